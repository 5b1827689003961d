//===- missing.hpp - PyTorch's names that are missing ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written by scripts/torch-names from test/parity/torch_names.txt; change that.
//
// A program that uses one gets a sentence instead of a list of candidates. The functions are templates that
// take anything, so a function of the program of the same name is preferred.
//
//===----------------------------------------------------------------------===//
// clang-format off

#ifndef WEFT_MISSING_HPP
#define WEFT_MISSING_HPP

#include "weft/missing_members.hpp"

/// Makes the use of a name an error of the compiler with this sentence.
#define WEFT_MISSING(sentence) __attribute__((unavailable(sentence)))
#define WEFT_ANYTHING                                                                                        \
  ::weft::detail::Anything = {}, ::weft::detail::Anything = {}, ::weft::detail::Anything = {},              \
  ::weft::detail::Anything = {}, ::weft::detail::Anything = {}, ::weft::detail::Anything = {}

namespace weft {
struct WEFT_MISSING("Weft has no torch.GradScaler: bf16 needs no scaling of the loss; convert the model with model.to(DType::bf16).") GradScaler {
  explicit GradScaler(WEFT_ANYTHING);
  template <typename... T> weft::detail::Nothing operator()(const T &...) const;
};
template <int = 0>
WEFT_MISSING("Weft has no torch.binomial: it is not drawn yet; bernoulli, rand, randn, randint and multinomial are.")
weft::detail::Nothing binomial(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.finfo: std::numeric_limits and weft::itemsize have it.")
weft::detail::Nothing finfo(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.from_dlpack: memory of other libraries is copied: Tensor::from(data, shape); the C interface takes it in place.")
weft::detail::Nothing from_dlpack(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.get_default_dtype: the default dtype is f32; give DType::f64 where a tensor is made.")
weft::detail::Nothing get_default_dtype(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.get_float32_matmul_precision: products of f32 are exact to f32 always; compile(f, {.numerics = Numerics::fast}) is what may differ.")
weft::detail::Nothing get_float32_matmul_precision(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.get_num_threads: threads are set by WEFT_NUM_THREADS.")
weft::detail::Nothing get_num_threads(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.gradient: diff(x) and a division by the distance give differences.")
weft::detail::Nothing gradient(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.igamma: the incomplete gamma functions are not there.")
weft::detail::Nothing igamma(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.igammac: the incomplete gamma functions are not there.")
weft::detail::Nothing igammac(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.iinfo: std::numeric_limits and weft::itemsize have it.")
weft::detail::Nothing iinfo(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.load: write module.load_state_dict(load_safetensors(path)), load_checkpoint(path, items) or load_npy(path).")
weft::detail::Nothing load(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.nextafter: it is not there; steps between neighbours are the host's.")
weft::detail::Nothing nextafter(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.poisson: it is not drawn yet; bernoulli, rand, randn, randint and multinomial are.")
weft::detail::Nothing poisson(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.save: write save_safetensors(path, module.state_dict()), save_checkpoint(path, items) or save_npy(path, tensor).")
weft::detail::Nothing save(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.segment_reduce: scatter_reduce(x, dim, index, source, reduce) with the number of each row's segment is it.")
weft::detail::Nothing segment_reduce(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.set_default_dtype: the default dtype is f32; give DType::f64 where a tensor is made.")
weft::detail::Nothing set_default_dtype(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.set_default_tensor_type: the default dtype is f32; give DType::f64 where a tensor is made.")
weft::detail::Nothing set_default_tensor_type(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.set_float32_matmul_precision: products of f32 are exact to f32 always; compile(f, {.numerics = Numerics::fast}) is what may differ.")
weft::detail::Nothing set_float32_matmul_precision(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.set_num_threads: threads are set by WEFT_NUM_THREADS.")
weft::detail::Nothing set_num_threads(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.set_printoptions: tensors print as PyTorch's do by default.")
weft::detail::Nothing set_printoptions(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.sparse_coo_tensor: there are no sparse tensors; index_select, scatter_add and embedding work on dense ones.")
weft::detail::Nothing sparse_coo_tensor(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.sparse_csr_tensor: there are no sparse tensors; index_select, scatter_add and embedding work on dense ones.")
weft::detail::Nothing sparse_csr_tensor(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.to_dlpack: memory of other libraries is copied: Tensor::from(data, shape); the C interface takes it in place.")
weft::detail::Nothing to_dlpack(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.use_deterministic_algorithms: every run gives the same bits, and there is nothing to switch.")
weft::detail::Nothing use_deterministic_algorithms(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.view_as_complex: there are no complex dtypes; keep the real and imaginary parts in a last dimension of 2.")
weft::detail::Nothing view_as_complex(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.view_as_real: there are no complex dtypes; keep the real and imaginary parts in a last dimension of 2.")
weft::detail::Nothing view_as_real(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.vmap: functions take batches: broadcasting, bmm and einsum do what vmap would.")
weft::detail::Nothing vmap(WEFT_ANYTHING);
} // namespace weft

namespace weft::nn {
struct WEFT_MISSING("Weft has no torch.nn.AdaptiveLogSoftmaxWithLoss: cross_entropy computes large classifications without their probabilities.") AdaptiveLogSoftmaxWithLoss {
  explicit AdaptiveLogSoftmaxWithLoss(WEFT_ANYTHING);
  template <typename... T> weft::detail::Nothing operator()(const T &...) const;
};
struct WEFT_MISSING("Weft has no torch.nn.DataParallel: a program trains on one device.") DataParallel {
  explicit DataParallel(WEFT_ANYTHING);
  template <typename... T> weft::detail::Nothing operator()(const T &...) const;
};
struct WEFT_MISSING("Weft has no torch.nn.LazyBatchNorm2d: sizes are given where a layer is made, because shapes are checked at once.") LazyBatchNorm2d {
  explicit LazyBatchNorm2d(WEFT_ANYTHING);
  template <typename... T> weft::detail::Nothing operator()(const T &...) const;
};
struct WEFT_MISSING("Weft has no torch.nn.LazyConv2d: sizes are given where a layer is made, because shapes are checked at once.") LazyConv2d {
  explicit LazyConv2d(WEFT_ANYTHING);
  template <typename... T> weft::detail::Nothing operator()(const T &...) const;
};
struct WEFT_MISSING("Weft has no torch.nn.LazyLinear: sizes are given where a layer is made, because shapes are checked at once.") LazyLinear {
  explicit LazyLinear(WEFT_ANYTHING);
  template <typename... T> weft::detail::Nothing operator()(const T &...) const;
};
struct WEFT_MISSING("Weft has no torch.nn.SyncBatchNorm: a program trains on one device.") SyncBatchNorm {
  explicit SyncBatchNorm(WEFT_ANYTHING);
  template <typename... T> weft::detail::Nothing operator()(const T &...) const;
};
} // namespace weft::nn

namespace weft::nn::functional {
template <int = 0>
WEFT_MISSING("Weft has no torch.nn.functional.multi_head_attention_forward: write nn::MultiheadAttention or scaled_dot_product_attention.")
weft::detail::Nothing multi_head_attention_forward(WEFT_ANYTHING);
} // namespace weft::nn::functional

namespace weft::nn::utils {
template <int = 0>
WEFT_MISSING("Weft has no torch.nn.utils.spectral_norm: PyTorch has deprecated it; nn::utils::parametrizations has its successor, with that one's names in state_dict.")
weft::detail::Nothing spectral_norm(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.nn.utils.weight_norm: PyTorch has deprecated it; nn::utils::parametrizations has its successor, with that one's names in state_dict.")
weft::detail::Nothing weight_norm(WEFT_ANYTHING);
} // namespace weft::nn::utils

namespace weft::optim {
struct WEFT_MISSING("Weft has no torch.optim.SparseAdam: gradients are dense: Adam updates what has a gradient.") SparseAdam {
  explicit SparseAdam(WEFT_ANYTHING);
  template <typename... T> weft::detail::Nothing operator()(const T &...) const;
};
} // namespace weft::optim

namespace weft::linalg {
template <int = 0>
WEFT_MISSING("Weft has no torch.linalg.eig: eigenvalues of a matrix that is not symmetric are complex; linalg::eigh takes symmetric ones.")
weft::detail::Nothing eig(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.linalg.eigvals: eigenvalues of a matrix that is not symmetric are complex; linalg::eigh takes symmetric ones.")
weft::detail::Nothing eigvals(WEFT_ANYTHING);
} // namespace weft::linalg

namespace weft::jit {
template <int = 0>
WEFT_MISSING("Weft has no torch.jit.script: write compile(f), and step.save(path) to ship a function.")
weft::detail::Nothing script(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.jit.trace: write compile(f), and step.save(path) to ship a function.")
weft::detail::Nothing trace(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.jit.save: write step.save(path) of a compiled function.")
weft::detail::Nothing save(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.jit.load: packages are loaded by the C interface weft.h.")
weft::detail::Nothing load(WEFT_ANYTHING);
} // namespace weft::jit

namespace weft::sparse {
template <int = 0>
WEFT_MISSING("Weft has no torch.sparse.mm: there are no sparse tensors; index_select, scatter_add and embedding work on dense ones.")
weft::detail::Nothing mm(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.sparse.sum: there are no sparse tensors; index_select, scatter_add and embedding work on dense ones.")
weft::detail::Nothing sum(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.sparse.softmax: there are no sparse tensors; index_select, scatter_add and embedding work on dense ones.")
weft::detail::Nothing softmax(WEFT_ANYTHING);
} // namespace weft::sparse

namespace weft::nn::utils::prune {
template <int = 0>
WEFT_MISSING("Weft has no torch.nn.utils.prune.l1_unstructured: multiply the weight by a mask, a buffer of the module.")
weft::detail::Nothing l1_unstructured(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.nn.utils.prune.random_unstructured: multiply the weight by a mask, a buffer of the module.")
weft::detail::Nothing random_unstructured(WEFT_ANYTHING);
} // namespace weft::nn::utils::prune

namespace weft::nn::parallel {
struct WEFT_MISSING("Weft has no torch.nn.parallel.DataParallel: a program trains on one device.") DataParallel {
  explicit DataParallel(WEFT_ANYTHING);
  template <typename... T> weft::detail::Nothing operator()(const T &...) const;
};
struct WEFT_MISSING("Weft has no torch.nn.parallel.DistributedDataParallel: a program trains on one device.") DistributedDataParallel {
  explicit DistributedDataParallel(WEFT_ANYTHING);
  template <typename... T> weft::detail::Nothing operator()(const T &...) const;
};
} // namespace weft::nn::parallel

namespace weft::distributed {
template <int = 0>
WEFT_MISSING("Weft has no torch.distributed.init_process_group: a program trains on one device, in one process.")
weft::detail::Nothing init_process_group(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.distributed.all_reduce: a program trains on one device, in one process.")
weft::detail::Nothing all_reduce(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.distributed.broadcast: a program trains on one device, in one process.")
weft::detail::Nothing broadcast(WEFT_ANYTHING);
} // namespace weft::distributed

namespace weft::distributions {
struct WEFT_MISSING("Weft has no torch.distributions.Bernoulli: draw with bernoulli(p); its log-probability is -binary_cross_entropy.") Bernoulli {
  explicit Bernoulli(WEFT_ANYTHING);
  template <typename... T> weft::detail::Nothing operator()(const T &...) const;
};
struct WEFT_MISSING("Weft has no torch.distributions.Beta: draws of this distribution are not there.") Beta {
  explicit Beta(WEFT_ANYTHING);
  template <typename... T> weft::detail::Nothing operator()(const T &...) const;
};
struct WEFT_MISSING("Weft has no torch.distributions.Categorical: draw with multinomial(p, n, true); its log-probability is log_softmax and gather.") Categorical {
  explicit Categorical(WEFT_ANYTHING);
  template <typename... T> weft::detail::Nothing operator()(const T &...) const;
};
struct WEFT_MISSING("Weft has no torch.distributions.Gamma: draws of this distribution are not there.") Gamma {
  explicit Gamma(WEFT_ANYTHING);
  template <typename... T> weft::detail::Nothing operator()(const T &...) const;
};
struct WEFT_MISSING("Weft has no torch.distributions.Normal: draw mean + std * randn_like(mean); its log-probability is -gaussian_nll_loss but for a constant.") Normal {
  explicit Normal(WEFT_ANYTHING);
  template <typename... T> weft::detail::Nothing operator()(const T &...) const;
};
struct WEFT_MISSING("Weft has no torch.distributions.Uniform: draw with rand.") Uniform {
  explicit Uniform(WEFT_ANYTHING);
  template <typename... T> weft::detail::Nothing operator()(const T &...) const;
};
template <int = 0>
WEFT_MISSING("Weft has no torch.distributions.kl_divergence: nn::kl_div is of logarithms of probabilities; other formulas are a line.")
weft::detail::Nothing kl_divergence(WEFT_ANYTHING);
} // namespace weft::distributions

namespace weft::amp {
struct WEFT_MISSING("Weft has no torch.amp.GradScaler: bf16 needs no scaling of the loss; convert the model with model.to(DType::bf16).") GradScaler {
  explicit GradScaler(WEFT_ANYTHING);
  template <typename... T> weft::detail::Nothing operator()(const T &...) const;
};
template <int = 0>
WEFT_MISSING("Weft has no torch.amp.autocast: convert the model and its input, model.to(DType::bf16); losses and sums are computed in f32.")
weft::detail::Nothing autocast(WEFT_ANYTHING);
} // namespace weft::amp

namespace weft::accelerator {
struct WEFT_MISSING("Weft has no torch.accelerator.Graph: compile(f) makes one graph of a call, which is launched when the function is called.") Graph {
  explicit Graph(WEFT_ANYTHING);
  template <typename... T> weft::detail::Nothing operator()(const T &...) const;
};
} // namespace weft::accelerator

namespace weft::cuda {
struct WEFT_MISSING("Weft has no torch.cuda.CUDAGraph: compile(f) makes one graph of a call.") CUDAGraph {
  explicit CUDAGraph(WEFT_ANYTHING);
  template <typename... T> weft::detail::Nothing operator()(const T &...) const;
};
template <int = 0>
WEFT_MISSING("Weft has no torch.cuda.graph: compile(f) makes one graph of a call.")
weft::detail::Nothing graph(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.cuda.make_graphed_callables: compile(f) makes one graph of a call, with the derivatives that are taken in it.")
weft::detail::Nothing make_graphed_callables(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.cuda.is_current_stream_capturing: a program captures nothing; calls of compiled functions are graphs from their third on.")
weft::detail::Nothing is_current_stream_capturing(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.cuda.graph_pool_handle: graphs have no pools: temporaries lie in memory of the stream, and results in tensors of their own.")
weft::detail::Nothing graph_pool_handle(WEFT_ANYTHING);
struct WEFT_MISSING("Weft has no torch.cuda.MemPool: temporaries of a call are one block of its stream, which is known before the call; set_memory_limit bounds a device.") MemPool {
  explicit MemPool(WEFT_ANYTHING);
  template <typename... T> weft::detail::Nothing operator()(const T &...) const;
};
template <int = 0>
WEFT_MISSING("Weft has no torch.cuda.use_mem_pool: temporaries of a call are one block of its stream, which is known before the call; set_memory_limit bounds a device.")
weft::detail::Nothing use_mem_pool(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.cuda.manual_seed: write manual_seed(seed): generators are on no device.")
weft::detail::Nothing manual_seed(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.cuda.memory_allocated: write memory_stats(device).")
weft::detail::Nothing memory_allocated(WEFT_ANYTHING);
template <int = 0>
WEFT_MISSING("Weft has no torch.cuda.max_memory_allocated: write memory_stats(device).")
weft::detail::Nothing max_memory_allocated(WEFT_ANYTHING);
} // namespace weft::cuda

#undef WEFT_ANYTHING
#undef WEFT_MISSING

#endif // WEFT_MISSING_HPP
