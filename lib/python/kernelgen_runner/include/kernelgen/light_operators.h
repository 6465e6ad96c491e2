// Declarations of single operators: each costs next to nothing, all of them together most of a minute.
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
#if __has_include(<ATen/ops/amax.h>)
#include <ATen/ops/amax.h>
#endif
#if __has_include(<ATen/ops/amin.h>)
#include <ATen/ops/amin.h>
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
#if __has_include(<ATen/ops/baddbmm.h>)
#include <ATen/ops/baddbmm.h>
#endif
#if __has_include(<ATen/ops/bmm.h>)
#include <ATen/ops/bmm.h>
#endif
#if __has_include(<ATen/ops/cat.h>)
#include <ATen/ops/cat.h>
#endif
#if __has_include(<ATen/ops/clamp.h>)
#include <ATen/ops/clamp.h>
#endif
#if __has_include(<ATen/ops/clone.h>)
#include <ATen/ops/clone.h>
#endif
#if __has_include(<ATen/ops/contiguous.h>)
#include <ATen/ops/contiguous.h>
#endif
#if __has_include(<ATen/ops/copy.h>)
#include <ATen/ops/copy.h>
#endif
#if __has_include(<ATen/ops/cumsum.h>)
#include <ATen/ops/cumsum.h>
#endif
#if __has_include(<ATen/ops/div.h>)
#include <ATen/ops/div.h>
#endif
#if __has_include(<ATen/ops/einsum.h>)
#include <ATen/ops/einsum.h>
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
#if __has_include(<ATen/ops/flip.h>)
#include <ATen/ops/flip.h>
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
#if __has_include(<ATen/ops/gelu.h>)
#include <ATen/ops/gelu.h>
#endif
#if __has_include(<ATen/ops/index_select.h>)
#include <ATen/ops/index_select.h>
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
#if __has_include(<ATen/ops/matmul.h>)
#include <ATen/ops/matmul.h>
#endif
#if __has_include(<ATen/ops/max.h>)
#include <ATen/ops/max.h>
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
#if __has_include(<ATen/ops/neg.h>)
#include <ATen/ops/neg.h>
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
#if __has_include(<ATen/ops/permute.h>)
#include <ATen/ops/permute.h>
#endif
#if __has_include(<ATen/ops/pow.h>)
#include <ATen/ops/pow.h>
#endif
#if __has_include(<ATen/ops/relu.h>)
#include <ATen/ops/relu.h>
#endif
#if __has_include(<ATen/ops/reshape.h>)
#include <ATen/ops/reshape.h>
#endif
#if __has_include(<ATen/ops/rsqrt.h>)
#include <ATen/ops/rsqrt.h>
#endif
#if __has_include(<ATen/ops/scalar_tensor.h>)
#include <ATen/ops/scalar_tensor.h>
#endif
#if __has_include(<ATen/ops/select.h>)
#include <ATen/ops/select.h>
#endif
#if __has_include(<ATen/ops/sigmoid.h>)
#include <ATen/ops/sigmoid.h>
#endif
#if __has_include(<ATen/ops/silu.h>)
#include <ATen/ops/silu.h>
#endif
#if __has_include(<ATen/ops/slice.h>)
#include <ATen/ops/slice.h>
#endif
#if __has_include(<ATen/ops/softmax.h>)
#include <ATen/ops/softmax.h>
#endif
#if __has_include(<ATen/ops/split.h>)
#include <ATen/ops/split.h>
#endif
#if __has_include(<ATen/ops/sqrt.h>)
#include <ATen/ops/sqrt.h>
#endif
#if __has_include(<ATen/ops/squeeze.h>)
#include <ATen/ops/squeeze.h>
#endif
#if __has_include(<ATen/ops/stack.h>)
#include <ATen/ops/stack.h>
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
#if __has_include(<ATen/ops/tensor.h>)
#include <ATen/ops/tensor.h>
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
#if __has_include(<ATen/ops/unsqueeze.h>)
#include <ATen/ops/unsqueeze.h>
#endif
#if __has_include(<ATen/ops/var.h>)
#include <ATen/ops/var.h>
#endif
#if __has_include(<ATen/ops/view.h>)
#include <ATen/ops/view.h>
#endif
#if __has_include(<ATen/ops/where.h>)
#include <ATen/ops/where.h>
#endif
#if __has_include(<ATen/ops/zeros.h>)
#include <ATen/ops/zeros.h>
#endif
#if __has_include(<ATen/ops/zeros_like.h>)
#include <ATen/ops/zeros_like.h>
#endif
#if __has_include(<ATen/ops/zero.h>)
#include <ATen/ops/zero.h>
#endif
