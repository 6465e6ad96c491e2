// Operators as functions, torch::softmax(x, 1): each costs next to nothing, all two thousand of them most of a minute.
// Where a version of torch lacks one, nobody can have called it.
#pragma once

#if __has_include(<ATen/ops/abs.h>)
#include <ATen/ops/abs.h>
#endif
#if __has_include(<ATen/ops/add.h>)
#include <ATen/ops/add.h>
#endif
#if __has_include(<ATen/ops/addmm.h>)
#include <ATen/ops/addmm.h>
#endif
#if __has_include(<ATen/ops/all.h>)
#include <ATen/ops/all.h>
#endif
#if __has_include(<ATen/ops/allclose.h>)
#include <ATen/ops/allclose.h>
#endif
#if __has_include(<ATen/ops/amax.h>)
#include <ATen/ops/amax.h>
#endif
#if __has_include(<ATen/ops/amin.h>)
#include <ATen/ops/amin.h>
#endif
#if __has_include(<ATen/ops/any.h>)
#include <ATen/ops/any.h>
#endif
#if __has_include(<ATen/ops/arange.h>)
#include <ATen/ops/arange.h>
#endif
#if __has_include(<ATen/ops/argmax.h>)
#include <ATen/ops/argmax.h>
#endif
#if __has_include(<ATen/ops/argmin.h>)
#include <ATen/ops/argmin.h>
#endif
#if __has_include(<ATen/ops/argsort.h>)
#include <ATen/ops/argsort.h>
#endif
#if __has_include(<ATen/ops/avg_pool2d.h>)
#include <ATen/ops/avg_pool2d.h>
#endif
#if __has_include(<ATen/ops/baddbmm.h>)
#include <ATen/ops/baddbmm.h>
#endif
#if __has_include(<ATen/ops/batch_norm.h>)
#include <ATen/ops/batch_norm.h>
#endif
#if __has_include(<ATen/ops/bernoulli.h>)
#include <ATen/ops/bernoulli.h>
#endif
#if __has_include(<ATen/ops/bitwise_and.h>)
#include <ATen/ops/bitwise_and.h>
#endif
#if __has_include(<ATen/ops/bitwise_or.h>)
#include <ATen/ops/bitwise_or.h>
#endif
#if __has_include(<ATen/ops/bitwise_xor.h>)
#include <ATen/ops/bitwise_xor.h>
#endif
#if __has_include(<ATen/ops/bmm.h>)
#include <ATen/ops/bmm.h>
#endif
#if __has_include(<ATen/ops/cat.h>)
#include <ATen/ops/cat.h>
#endif
#if __has_include(<ATen/ops/ceil.h>)
#include <ATen/ops/ceil.h>
#endif
#if __has_include(<ATen/ops/chunk.h>)
#include <ATen/ops/chunk.h>
#endif
#if __has_include(<ATen/ops/clamp.h>)
#include <ATen/ops/clamp.h>
#endif
#if __has_include(<ATen/ops/clone.h>)
#include <ATen/ops/clone.h>
#endif
#if __has_include(<ATen/ops/concat.h>)
#include <ATen/ops/concat.h>
#endif
#if __has_include(<ATen/ops/contiguous.h>)
#include <ATen/ops/contiguous.h>
#endif
#if __has_include(<ATen/ops/conv1d.h>)
#include <ATen/ops/conv1d.h>
#endif
#if __has_include(<ATen/ops/conv2d.h>)
#include <ATen/ops/conv2d.h>
#endif
#if __has_include(<ATen/ops/conv3d.h>)
#include <ATen/ops/conv3d.h>
#endif
#if __has_include(<ATen/ops/convolution.h>)
#include <ATen/ops/convolution.h>
#endif
#if __has_include(<ATen/ops/copy.h>)
#include <ATen/ops/copy.h>
#endif
#if __has_include(<ATen/ops/cos.h>)
#include <ATen/ops/cos.h>
#endif
#if __has_include(<ATen/ops/cumprod.h>)
#include <ATen/ops/cumprod.h>
#endif
#if __has_include(<ATen/ops/cumsum.h>)
#include <ATen/ops/cumsum.h>
#endif
#if __has_include(<ATen/ops/div.h>)
#include <ATen/ops/div.h>
#endif
#if __has_include(<ATen/ops/dot.h>)
#include <ATen/ops/dot.h>
#endif
#if __has_include(<ATen/ops/dropout.h>)
#include <ATen/ops/dropout.h>
#endif
#if __has_include(<ATen/ops/einsum.h>)
#include <ATen/ops/einsum.h>
#endif
#if __has_include(<ATen/ops/elu.h>)
#include <ATen/ops/elu.h>
#endif
#if __has_include(<ATen/ops/empty.h>)
#include <ATen/ops/empty.h>
#endif
#if __has_include(<ATen/ops/empty_like.h>)
#include <ATen/ops/empty_like.h>
#endif
#if __has_include(<ATen/ops/empty_strided.h>)
#include <ATen/ops/empty_strided.h>
#endif
#if __has_include(<ATen/ops/eq.h>)
#include <ATen/ops/eq.h>
#endif
#if __has_include(<ATen/ops/equal.h>)
#include <ATen/ops/equal.h>
#endif
#if __has_include(<ATen/ops/erf.h>)
#include <ATen/ops/erf.h>
#endif
#if __has_include(<ATen/ops/exp.h>)
#include <ATen/ops/exp.h>
#endif
#if __has_include(<ATen/ops/expand.h>)
#include <ATen/ops/expand.h>
#endif
#if __has_include(<ATen/ops/eye.h>)
#include <ATen/ops/eye.h>
#endif
#if __has_include(<ATen/ops/fill.h>)
#include <ATen/ops/fill.h>
#endif
#if __has_include(<ATen/ops/flatten.h>)
#include <ATen/ops/flatten.h>
#endif
#if __has_include(<ATen/ops/flip.h>)
#include <ATen/ops/flip.h>
#endif
#if __has_include(<ATen/ops/floor.h>)
#include <ATen/ops/floor.h>
#endif
#if __has_include(<ATen/ops/from_blob.h>)
#include <ATen/ops/from_blob.h>
#endif
#if __has_include(<ATen/ops/full.h>)
#include <ATen/ops/full.h>
#endif
#if __has_include(<ATen/ops/full_like.h>)
#include <ATen/ops/full_like.h>
#endif
#if __has_include(<ATen/ops/gather.h>)
#include <ATen/ops/gather.h>
#endif
#if __has_include(<ATen/ops/ge.h>)
#include <ATen/ops/ge.h>
#endif
#if __has_include(<ATen/ops/gelu.h>)
#include <ATen/ops/gelu.h>
#endif
#if __has_include(<ATen/ops/group_norm.h>)
#include <ATen/ops/group_norm.h>
#endif
#if __has_include(<ATen/ops/gt.h>)
#include <ATen/ops/gt.h>
#endif
#if __has_include(<ATen/ops/hardswish.h>)
#include <ATen/ops/hardswish.h>
#endif
#if __has_include(<ATen/ops/hardtanh.h>)
#include <ATen/ops/hardtanh.h>
#endif
#if __has_include(<ATen/ops/index_add.h>)
#include <ATen/ops/index_add.h>
#endif
#if __has_include(<ATen/ops/index_put.h>)
#include <ATen/ops/index_put.h>
#endif
#if __has_include(<ATen/ops/index_select.h>)
#include <ATen/ops/index_select.h>
#endif
#if __has_include(<ATen/ops/isnan.h>)
#include <ATen/ops/isnan.h>
#endif
#if __has_include(<ATen/ops/layer_norm.h>)
#include <ATen/ops/layer_norm.h>
#endif
#if __has_include(<ATen/ops/le.h>)
#include <ATen/ops/le.h>
#endif
#if __has_include(<ATen/ops/leaky_relu.h>)
#include <ATen/ops/leaky_relu.h>
#endif
#if __has_include(<ATen/ops/linear.h>)
#include <ATen/ops/linear.h>
#endif
#if __has_include(<ATen/ops/linspace.h>)
#include <ATen/ops/linspace.h>
#endif
#if __has_include(<ATen/ops/log.h>)
#include <ATen/ops/log.h>
#endif
#if __has_include(<ATen/ops/log_softmax.h>)
#include <ATen/ops/log_softmax.h>
#endif
#if __has_include(<ATen/ops/logical_and.h>)
#include <ATen/ops/logical_and.h>
#endif
#if __has_include(<ATen/ops/logical_not.h>)
#include <ATen/ops/logical_not.h>
#endif
#if __has_include(<ATen/ops/logical_or.h>)
#include <ATen/ops/logical_or.h>
#endif
#if __has_include(<ATen/ops/logsumexp.h>)
#include <ATen/ops/logsumexp.h>
#endif
#if __has_include(<ATen/ops/lt.h>)
#include <ATen/ops/lt.h>
#endif
#if __has_include(<ATen/ops/masked_fill.h>)
#include <ATen/ops/masked_fill.h>
#endif
#if __has_include(<ATen/ops/matmul.h>)
#include <ATen/ops/matmul.h>
#endif
#if __has_include(<ATen/ops/max.h>)
#include <ATen/ops/max.h>
#endif
#if __has_include(<ATen/ops/max_pool2d.h>)
#include <ATen/ops/max_pool2d.h>
#endif
#if __has_include(<ATen/ops/maximum.h>)
#include <ATen/ops/maximum.h>
#endif
#if __has_include(<ATen/ops/mean.h>)
#include <ATen/ops/mean.h>
#endif
#if __has_include(<ATen/ops/min.h>)
#include <ATen/ops/min.h>
#endif
#if __has_include(<ATen/ops/minimum.h>)
#include <ATen/ops/minimum.h>
#endif
#if __has_include(<ATen/ops/mish.h>)
#include <ATen/ops/mish.h>
#endif
#if __has_include(<ATen/ops/mm.h>)
#include <ATen/ops/mm.h>
#endif
#if __has_include(<ATen/ops/mul.h>)
#include <ATen/ops/mul.h>
#endif
#if __has_include(<ATen/ops/mv.h>)
#include <ATen/ops/mv.h>
#endif
#if __has_include(<ATen/ops/narrow.h>)
#include <ATen/ops/narrow.h>
#endif
#if __has_include(<ATen/ops/native_layer_norm.h>)
#include <ATen/ops/native_layer_norm.h>
#endif
#if __has_include(<ATen/ops/ne.h>)
#include <ATen/ops/ne.h>
#endif
#if __has_include(<ATen/ops/neg.h>)
#include <ATen/ops/neg.h>
#endif
#if __has_include(<ATen/ops/nonzero.h>)
#include <ATen/ops/nonzero.h>
#endif
#if __has_include(<ATen/ops/norm.h>)
#include <ATen/ops/norm.h>
#endif
#if __has_include(<ATen/ops/ones.h>)
#include <ATen/ops/ones.h>
#endif
#if __has_include(<ATen/ops/ones_like.h>)
#include <ATen/ops/ones_like.h>
#endif
#if __has_include(<ATen/ops/outer.h>)
#include <ATen/ops/outer.h>
#endif
#if __has_include(<ATen/ops/pad.h>)
#include <ATen/ops/pad.h>
#endif
#if __has_include(<ATen/ops/permute.h>)
#include <ATen/ops/permute.h>
#endif
#if __has_include(<ATen/ops/pow.h>)
#include <ATen/ops/pow.h>
#endif
#if __has_include(<ATen/ops/prod.h>)
#include <ATen/ops/prod.h>
#endif
#if __has_include(<ATen/ops/rand.h>)
#include <ATen/ops/rand.h>
#endif
#if __has_include(<ATen/ops/rand_like.h>)
#include <ATen/ops/rand_like.h>
#endif
#if __has_include(<ATen/ops/randint.h>)
#include <ATen/ops/randint.h>
#endif
#if __has_include(<ATen/ops/randn.h>)
#include <ATen/ops/randn.h>
#endif
#if __has_include(<ATen/ops/randn_like.h>)
#include <ATen/ops/randn_like.h>
#endif
#if __has_include(<ATen/ops/reciprocal.h>)
#include <ATen/ops/reciprocal.h>
#endif
#if __has_include(<ATen/ops/relu.h>)
#include <ATen/ops/relu.h>
#endif
#if __has_include(<ATen/ops/remainder.h>)
#include <ATen/ops/remainder.h>
#endif
#if __has_include(<ATen/ops/repeat_interleave.h>)
#include <ATen/ops/repeat_interleave.h>
#endif
#if __has_include(<ATen/ops/reshape.h>)
#include <ATen/ops/reshape.h>
#endif
#if __has_include(<ATen/ops/roll.h>)
#include <ATen/ops/roll.h>
#endif
#if __has_include(<ATen/ops/round.h>)
#include <ATen/ops/round.h>
#endif
#if __has_include(<ATen/ops/rsqrt.h>)
#include <ATen/ops/rsqrt.h>
#endif
#if __has_include(<ATen/ops/scalar_tensor.h>)
#include <ATen/ops/scalar_tensor.h>
#endif
#if __has_include(<ATen/ops/scatter.h>)
#include <ATen/ops/scatter.h>
#endif
#if __has_include(<ATen/ops/scatter_add.h>)
#include <ATen/ops/scatter_add.h>
#endif
#if __has_include(<ATen/ops/select.h>)
#include <ATen/ops/select.h>
#endif
#if __has_include(<ATen/ops/sigmoid.h>)
#include <ATen/ops/sigmoid.h>
#endif
#if __has_include(<ATen/ops/sign.h>)
#include <ATen/ops/sign.h>
#endif
#if __has_include(<ATen/ops/silu.h>)
#include <ATen/ops/silu.h>
#endif
#if __has_include(<ATen/ops/sin.h>)
#include <ATen/ops/sin.h>
#endif
#if __has_include(<ATen/ops/slice.h>)
#include <ATen/ops/slice.h>
#endif
#if __has_include(<ATen/ops/softmax.h>)
#include <ATen/ops/softmax.h>
#endif
#if __has_include(<ATen/ops/softplus.h>)
#include <ATen/ops/softplus.h>
#endif
#if __has_include(<ATen/ops/sort.h>)
#include <ATen/ops/sort.h>
#endif
#if __has_include(<ATen/ops/split.h>)
#include <ATen/ops/split.h>
#endif
#if __has_include(<ATen/ops/sqrt.h>)
#include <ATen/ops/sqrt.h>
#endif
#if __has_include(<ATen/ops/square.h>)
#include <ATen/ops/square.h>
#endif
#if __has_include(<ATen/ops/squeeze.h>)
#include <ATen/ops/squeeze.h>
#endif
#if __has_include(<ATen/ops/stack.h>)
#include <ATen/ops/stack.h>
#endif
#if __has_include(<ATen/ops/std.h>)
#include <ATen/ops/std.h>
#endif
#if __has_include(<ATen/ops/sub.h>)
#include <ATen/ops/sub.h>
#endif
#if __has_include(<ATen/ops/sum.h>)
#include <ATen/ops/sum.h>
#endif
#if __has_include(<ATen/ops/tanh.h>)
#include <ATen/ops/tanh.h>
#endif
#if __has_include(<ATen/ops/tensordot.h>)
#include <ATen/ops/tensordot.h>
#endif
#if __has_include(<ATen/ops/topk.h>)
#include <ATen/ops/topk.h>
#endif
#if __has_include(<ATen/ops/transpose.h>)
#include <ATen/ops/transpose.h>
#endif
#if __has_include(<ATen/ops/tril.h>)
#include <ATen/ops/tril.h>
#endif
#if __has_include(<ATen/ops/triu.h>)
#include <ATen/ops/triu.h>
#endif
#if __has_include(<ATen/ops/unbind.h>)
#include <ATen/ops/unbind.h>
#endif
#if __has_include(<ATen/ops/unsqueeze.h>)
#include <ATen/ops/unsqueeze.h>
#endif
#if __has_include(<ATen/ops/var.h>)
#include <ATen/ops/var.h>
#endif
#if __has_include(<ATen/ops/var_mean.h>)
#include <ATen/ops/var_mean.h>
#endif
#if __has_include(<ATen/ops/vstack.h>)
#include <ATen/ops/vstack.h>
#endif
#if __has_include(<ATen/ops/where.h>)
#include <ATen/ops/where.h>
#endif
#if __has_include(<ATen/ops/zero.h>)
#include <ATen/ops/zero.h>
#endif
#if __has_include(<ATen/ops/zeros.h>)
#include <ATen/ops/zeros.h>
#endif
#if __has_include(<ATen/ops/zeros_like.h>)
#include <ATen/ops/zeros_like.h>
#endif
