//===- generators.hpp - Networks that give images ----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_MODELS_GENERATORS_HPP
#define WEFT_MODELS_GENERATORS_HPP

#include "weft/layers.hpp"
#include "weft/spatial_layers.hpp"

namespace weft::models {

/// \name Ronneberger, Fischer and Brox (2015): U-Net
/// A class for each pixel: images [batch, in_channels, rows, columns] to logits [batch, num_classes, rows,
/// columns]. As the usual PyTorch version, convolutions are padded and have batch norm, and upsampling is a
/// transposed convolution; parameters have the names inc, down1 to down4, up1 to up4 and outc.
/// @{
struct UNetOptions {
  int64_t in_channels = 3, num_classes = 2;
  int64_t width = 64; ///< channels of the first level; each of the four below has twice as many
};

class WEFT_API UNet : public nn::Module {
public:
  explicit UNet(UNetOptions options = {});
  /// Throws Error unless rows and columns are multiples of 16.
  Tensor operator()(const Tensor &images) const;

private:
  /// Two convolutions of 3 x 3 with batch norm.
  struct Double : nn::Module {
    Double(int64_t in, int64_t out);
    Tensor operator()(const Tensor &x) const { return double_conv(x); }
    nn::Sequential double_conv;
  };
  struct Down : nn::Module {
    Down(int64_t in, int64_t out);
    Tensor operator()(const Tensor &x) const { return maxpool_conv(x); }
    nn::Sequential maxpool_conv;
  };
  struct Up : nn::Module {
    Up(int64_t in, int64_t out);
    Tensor operator()(const Tensor &x, const Tensor &beside) const;
    nn::ConvTranspose2d up;
    Double conv;
  };
  struct Out : nn::Module {
    Out(int64_t in, int64_t out);
    nn::Conv2d conv;
  };
  Double inc_;
  Down down1_, down2_, down3_, down4_;
  Up up1_, up2_, up3_, up4_;
  Out outc_;
};
/// @}

/// \name Kingma and Welling (2014): Auto-Encoding Variational Bayes
/// @{
struct VaeOptions {
  int64_t features = 784, hidden = 400, latent = 20;
};

class WEFT_API Vae : public nn::Module {
public:
  explicit Vae(VaeOptions options = {});
  struct Result {
    Tensor reconstruction, mean, log_variance;
  };
  /// x [batch, features] in [0, 1]. `noise`, of the latent shape, is drawn from the default generator if it
  /// is left out.
  Result operator()(const Tensor &x, const Tensor &noise = {}) const;
  /// The mean and the log of the variance of the latent distribution, [batch, latent] each.
  std::pair<Tensor, Tensor> encode(const Tensor &x) const;
  /// [batch, latent] to [batch, features] in [0, 1].
  Tensor decode(const Tensor &z) const;
  /// Reconstruction by binary cross entropy plus the divergence from the standard normal distribution, both
  /// summed.
  static Tensor loss(const Result &result, const Tensor &x);
  nn::Linear fc1, fc21, fc22, fc3, fc4;
};
/// @}

/// \name Radford, Metz and Chintala (2016): Deep Convolutional Generative Adversarial Networks
/// For images of 64 x 64, or 32 x 32 (`size`); parameters as in PyTorch's example: main.0.weight, ...
/// @{
struct DcganOptions {
  int64_t latent = 100, channels = 3;
  int64_t width = 64; ///< channels next to the image
  int64_t size = 64;
};

/// z [batch, latent, 1, 1] to images [batch, channels, size, size] in [-1, 1].
class WEFT_API DcganGenerator : public nn::Module {
public:
  explicit DcganGenerator(DcganOptions options = {});
  Tensor operator()(const Tensor &z) const { return main(z); }
  nn::Sequential main;
};

/// Images to one logit each, [batch]: above 0 for those that look real.
class WEFT_API DcganDiscriminator : public nn::Module {
public:
  explicit DcganDiscriminator(DcganOptions options = {});
  Tensor operator()(const Tensor &images) const { return main(images).flatten(); }
  nn::Sequential main;
};
/// @}

} // namespace weft::models

#endif // WEFT_MODELS_GENERATORS_HPP
