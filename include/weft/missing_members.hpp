//===- missing_members.hpp - PyTorch's members that are missing -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written by scripts/torch-names from test/parity/torch_names.txt; change that.
//
//
//===----------------------------------------------------------------------===//
// clang-format off

#ifndef WEFT_MISSING_MEMBERS_HPP
#define WEFT_MISSING_MEMBERS_HPP

#include <initializer_list>

/// Makes the use of a name an error of the compiler with this sentence.
#define WEFT_MISSING(sentence) __attribute__((unavailable(sentence)))
#define WEFT_ANYTHING                                                                                        \
  ::weft::detail::Anything = {}, ::weft::detail::Anything = {}, ::weft::detail::Anything = {},              \
  ::weft::detail::Anything = {}, ::weft::detail::Anything = {}, ::weft::detail::Anything = {}

namespace weft::detail {

/// What a missing function takes: anything, so that the error is the sentence and no list of candidates. Every
/// other function is a better match.
struct Anything {
  Anything() = default;
  template <typename T> Anything(const T &) {}
  Anything(std::initializer_list<Anything>) {}
};
/// What a missing member without parentheses is.
struct Nothing {
  template <typename... T> Nothing operator()(const T &...) const { return {}; }
  template <typename T> Nothing operator[](const T &) const { return {}; }
};
/// Base of TensorMembers.
class MissingMembers {
public:
  template <int = 0>
  WEFT_MISSING("Weft has no torch.Tensor.apply_: a function of the host on each element does not run on a device; use functions on tensors, or to_vector<T>().")
  Nothing apply_(WEFT_ANYTHING) const;
  template <int = 0>
  WEFT_MISSING("Weft has no torch.Tensor.coalesce: there are no sparse tensors; index_select, scatter_add and embedding work on dense ones.")
  Nothing coalesce(WEFT_ANYTHING) const;
  template <int = 0>
  WEFT_MISSING("Weft has no torch.Tensor.data_ptr: a pointer to elements is not given out: they may be on a device, or not computed yet. x.to_vector<T>() copies them.")
  Nothing data_ptr(WEFT_ANYTHING) const;
  WEFT_MISSING("Weft has no torch.Tensor.grad_fn: x.requires_grad() and x.is_leaf() tell whether it was computed; the graph is explain()'s.")
  static const Nothing grad_fn;
  template <int = 0>
  WEFT_MISSING("Weft has no torch.Tensor.histogram: write histogram(x, bins, options).")
  Nothing histogram(WEFT_ANYTHING) const;
  WEFT_MISSING("Weft has no torch.Tensor.is_sparse: there are no sparse tensors; index_select, scatter_add and embedding work on dense ones.")
  static const Nothing is_sparse;
  template <int = 0>
  WEFT_MISSING("Weft has no torch.Tensor.istft: write stft(x, n_fft, options) and istft(x, n_fft, options).")
  Nothing istft(WEFT_ANYTHING) const;
  template <int = 0>
  WEFT_MISSING("Weft has no torch.Tensor.map_: a function of the host on each element does not run on a device; use functions on tensors, or to_vector<T>().")
  Nothing map_(WEFT_ANYTHING) const;
  WEFT_MISSING("Weft has no torch.Tensor.ndim: write x.dim().")
  static const Nothing ndim;
  template <int = 0>
  WEFT_MISSING("Weft has no torch.Tensor.numpy: write x.to_vector<T>(), to_host(x) or save_npy(path, x).")
  Nothing numpy(WEFT_ANYTHING) const;
  template <int = 0>
  WEFT_MISSING("Weft has no torch.Tensor.register_post_accumulate_grad_hook: tensors have register_hook, and modules nn::Hooked.")
  Nothing register_post_accumulate_grad_hook(WEFT_ANYTHING) const;
  WEFT_MISSING("Weft has no torch.Tensor.shape: write x.sizes(), or x.size(dim).")
  static const Nothing shape;
  template <int = 0>
  WEFT_MISSING("Weft has no torch.Tensor.sparse_mask: there are no sparse tensors; index_select, scatter_add and embedding work on dense ones.")
  Nothing sparse_mask(WEFT_ANYTHING) const;
  template <int = 0>
  WEFT_MISSING("Weft has no torch.Tensor.stft: write stft(x, n_fft, options) and istft(x, n_fft, options).")
  Nothing stft(WEFT_ANYTHING) const;
  template <int = 0>
  WEFT_MISSING("Weft has no torch.Tensor.storage: a tensor has no storage of its own to name; x.to_bytes() are its bytes.")
  Nothing storage(WEFT_ANYTHING) const;
  template <int = 0>
  WEFT_MISSING("Weft has no torch.Tensor.to_dense: there are no sparse tensors; index_select, scatter_add and embedding work on dense ones.")
  Nothing to_dense(WEFT_ANYTHING) const;
  template <int = 0>
  WEFT_MISSING("Weft has no torch.Tensor.to_sparse: there are no sparse tensors; index_select, scatter_add and embedding work on dense ones.")
  Nothing to_sparse(WEFT_ANYTHING) const;
  template <int = 0>
  WEFT_MISSING("Weft has no torch.Tensor.to_sparse_coo: there are no sparse tensors; index_select, scatter_add and embedding work on dense ones.")
  Nothing to_sparse_coo(WEFT_ANYTHING) const;
  template <int = 0>
  WEFT_MISSING("Weft has no torch.Tensor.to_sparse_csr: there are no sparse tensors; index_select, scatter_add and embedding work on dense ones.")
  Nothing to_sparse_csr(WEFT_ANYTHING) const;
  template <int = 0>
  WEFT_MISSING("Weft has no torch.Tensor.tolist: write x.to_vector<T>().")
  Nothing tolist(WEFT_ANYTHING) const;
  template <int = 0>
  WEFT_MISSING("Weft has no torch.Tensor.type: write x.dtype(), or x.to(DType::f32) to convert.")
  Nothing type(WEFT_ANYTHING) const;
  template <int = 0>
  WEFT_MISSING("Weft has no torch.Tensor.untyped_storage: a tensor has no storage of its own to name; x.to_bytes() are its bytes.")
  Nothing untyped_storage(WEFT_ANYTHING) const;
};

} // namespace weft::detail

#undef WEFT_ANYTHING
#undef WEFT_MISSING

#endif // WEFT_MISSING_MEMBERS_HPP
