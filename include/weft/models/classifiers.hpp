//===- classifiers.hpp - Networks that classify images -----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_MODELS_CLASSIFIERS_HPP
#define WEFT_MODELS_CLASSIFIERS_HPP

#include "weft/layers.hpp"
#include "weft/spatial_layers.hpp"
#include "weft/transformer.hpp"

namespace weft::models {

/// All of these map images [batch, channels, rows, columns] to logits [batch, num_classes], have the
/// parameters of torchvision's models under the same names, and draw initial values from the same
/// distributions.

/// \name He, Zhang, Ren and Sun (2016): Deep Residual Learning for Image Recognition
/// @{
struct ResNetOptions {
  int64_t num_classes = 1000;
  int64_t in_channels = 3;
  int64_t width = 64; ///< channels of the first stage; each later one has twice as many
  /// For images of about 32 x 32: the first convolution has windows of 3 x 3 and no stride, and no pooling
  /// follows it.
  bool small_images = false;
};

/// Two convolutions of 3 x 3, or one of 3 x 3 between two of 1 x 1 (`bottleneck`), and their operand.
class WEFT_API ResidualBlock : public nn::Module {
public:
  ResidualBlock(int64_t in, int64_t planes, int64_t stride, bool bottleneck);
  Tensor operator()(const Tensor &x) const;
  /// How many times `planes` a block of this kind gives.
  static int64_t expansion(bool bottleneck) { return bottleneck ? 4 : 1; }
  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  std::optional<nn::Conv2d> conv3;
  std::optional<nn::BatchNorm2d> bn3;
  std::optional<nn::Sequential> downsample;
};

class WEFT_API ResNet : public nn::Module {
public:
  /// `blocks`: how many each of the four stages has. Throws Error unless there are four numbers above 0.
  ResNet(bool bottleneck, std::vector<int64_t> blocks, ResNetOptions options = {});
  Tensor operator()(const Tensor &images) const;
  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Sequential layer1, layer2, layer3, layer4;
  nn::Linear fc;

private:
  bool pools_;
};

WEFT_API ResNet resnet18(ResNetOptions options = {});
WEFT_API ResNet resnet34(ResNetOptions options = {});
WEFT_API ResNet resnet50(ResNetOptions options = {});
/// @}

/// \name Simonyan and Zisserman (2015): Very Deep Convolutional Networks
/// @{
struct VggOptions {
  int64_t num_classes = 1000;
  bool batch_norm = false;
  double dropout = 0.5;
  int64_t width = 64;    ///< channels of the first stage
  int64_t hidden = 4096; ///< features of the linear layers
};

class WEFT_API Vgg : public nn::Module {
public:
  /// `stages`: how many convolutions come before each pooling. Throws Error unless there are five numbers
  /// above 0.
  explicit Vgg(std::vector<int64_t> stages, VggOptions options = {});
  Tensor operator()(const Tensor &images) const;
  nn::Sequential features, classifier;
};

WEFT_API Vgg vgg11(VggOptions options = {});
WEFT_API Vgg vgg13(VggOptions options = {});
WEFT_API Vgg vgg16(VggOptions options = {});
WEFT_API Vgg vgg19(VggOptions options = {});
/// @}

/// \name Sandler et al. (2018): MobileNetV2, Inverted Residuals and Linear Bottlenecks
/// @{
struct MobileNetV2Options {
  int64_t num_classes = 1000;
  double width_mult = 1; ///< of all numbers of channels, which are then rounded to multiples of 8
  double dropout = 0.2;
};

/// 1 x 1 to more channels, 3 x 3 for each channel, 1 x 1 to fewer; and the operand, where shapes are equal.
class WEFT_API InvertedResidual : public nn::Module {
public:
  InvertedResidual(int64_t in, int64_t out, int64_t stride, int64_t expand_ratio);
  Tensor operator()(const Tensor &x) const;
  nn::Sequential conv;

private:
  bool adds_;
};

class WEFT_API MobileNetV2 : public nn::Module {
public:
  explicit MobileNetV2(MobileNetV2Options options = {});
  Tensor operator()(const Tensor &images) const;
  nn::Sequential features, classifier;
};

WEFT_API MobileNetV2 mobilenet_v2(MobileNetV2Options options = {});
/// @}

/// \name Dosovitskiy et al. (2021): An Image is Worth 16x16 Words
/// @{
struct ViTOptions {
  int64_t image_size = 224, patch_size = 16, num_layers = 12, num_heads = 12, hidden_dim = 768,
          mlp_dim = 3072;
  int64_t num_classes = 1000;
  double dropout = 0, attention_dropout = 0;
};

class WEFT_API ViTEncoderBlock : public nn::Module {
public:
  explicit ViTEncoderBlock(const ViTOptions &options);
  Tensor operator()(const Tensor &x) const;
  nn::LayerNorm ln_1;
  nn::MultiheadAttention self_attention;
  nn::Dropout dropout;
  nn::LayerNorm ln_2;
  nn::Sequential mlp;
};

class WEFT_API ViT : public nn::Module {
public:
  /// Throws Error unless patches tile images, and heads tile features.
  explicit ViT(ViTOptions options);
  /// Throws Error for images of another size.
  Tensor operator()(const Tensor &images) const;
  nn::Conv2d conv_proj;
  nn::Parameter class_token;

private:
  /// "encoder": its parameters have this prefix.
  struct Encoder : nn::Module {
    explicit Encoder(const ViTOptions &options);
    Tensor operator()(const Tensor &x) const;
    nn::Parameter pos_embedding;
    nn::Dropout dropout;
    std::vector<ViTEncoderBlock> blocks;
    nn::LayerNorm ln;
  };
  ViTOptions options_;
  Encoder encoder_;
  nn::Linear head_;
};

/// Options are those of torchvision's model of this name.
WEFT_API ViT vit_b_16(int64_t num_classes = 1000);
/// @}

} // namespace weft::models

#endif // WEFT_MODELS_CLASSIFIERS_HPP
