//===- models.hpp - Networks that are written for you ------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library of its own, `Weft::models`, of networks that people train, written with the public interface
// alone: what a model does, its source says in the terms of weft.hpp. Parameters have the names and shapes of
// the PyTorch models they are named after, so that their weights load from safetensors:
//   models::ResNet model = models::resnet18();
//   model.load_state_dict(load_safetensors("resnet18.safetensors"));
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_MODELS_HPP
#define WEFT_MODELS_HPP

#include "weft/models/classifiers.hpp"
#include "weft/models/generators.hpp"
#include "weft/models/language.hpp"

#endif // WEFT_MODELS_HPP
