//===- ctc_loss.hpp - Connectionist temporal classification ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CTC_LOSS_HPP
#define WEFT_CTC_LOSS_HPP

#include "weft/losses.hpp"

namespace weft::nn {

struct CtcLossOptions {
  int64_t blank = 0; ///< the class that stands for no label
  /// `mean`: each loss over the length of its target, but at least 1, and then the mean of the batch.
  Reduction reduction = Reduction::mean;
  bool zero_infinity = false; ///< whether losses that are infinite count as 0, and have no gradient
};

/// Graves et al. (2006): the negative log-likelihood of label sequences, summed over all alignments.
/// `log_probs` [T, batch, classes] holds logarithms of probabilities, as log_softmax gives them. `targets`
/// are classes, [batch, S], or those of all sequences one after the other, [sum of the lengths]. Lengths are
/// tensors of integers, [batch]; of targets that are one after the other they are read, which is an error in
/// a compiled function (WEFT-C001). Everything without a batch: [T, classes], [S], [] and []. A length or
/// class out of range is an error of the call. Infinite where no alignment fits. As PyTorch's, the gradient
/// is that with respect to what log_softmax was computed of, which log_softmax passes on unchanged.
WEFT_API Tensor ctc_loss(const Tensor &log_probs, const Tensor &targets, const Tensor &input_lengths,
                         const Tensor &target_lengths, CtcLossOptions options = {}, Loc loc = Loc::current());
/// With lengths that are numbers of the host.
WEFT_API Tensor ctc_loss(const Tensor &log_probs, const Tensor &targets,
                         const std::vector<int64_t> &input_lengths,
                         const std::vector<int64_t> &target_lengths, CtcLossOptions options = {},
                         Loc loc = Loc::current());

/// The loss as a module.
class WEFT_API CTCLoss : public Module {
public:
  explicit CTCLoss(CtcLossOptions options = {}) : Module("CTCLoss"), options_(options) {}
  Tensor operator()(const Tensor &log_probs, const Tensor &targets, const Tensor &input_lengths,
                    const Tensor &target_lengths, Loc loc = Loc::current()) const {
    return ctc_loss(log_probs, targets, input_lengths, target_lengths, options_, loc);
  }
  Tensor operator()(const Tensor &log_probs, const Tensor &targets, const std::vector<int64_t> &input_lengths,
                    const std::vector<int64_t> &target_lengths, Loc loc = Loc::current()) const {
    return ctc_loss(log_probs, targets, input_lengths, target_lengths, options_, loc);
  }

private:
  CtcLossOptions options_;
};

} // namespace weft::nn

#endif // WEFT_CTC_LOSS_HPP
