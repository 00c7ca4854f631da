// SPDX-License-Identifier: Apache-2.0
//
// Arguments of the kernels: pointers, shapes and strides, nothing else. Shapes are [rows, cols], the last axis
// contiguous; strides are in elements of the pointed-to type unless the name says bytes. No buffer may overlap another
// unless its comment allows it. A kernel works on the half-open range of rows, panels or units in its arguments, so
// that callers can share one operation among threads.
//
// These names mean the same in all arguments; the formulas above the structs say what else there is:
//   row_begin, row_end, unit_begin, unit_end, panel_begin, panel_end, begin, end   the range of this call
//   rows, cols, channels, width, padded_k                      the shape, as in the comments of the arrays
//   input_stride, output_stride, row_stride, query_stride, value_stride, factor_stride, gate_stride, first_stride,
//     time_step_stride                                         elements from one row of that array to the next
//   heads, kv_heads, key_heads, value_heads, groups            heads of queries, keys or values; groups of heads
//   head_dim, rotary_dim, key_dim, value_dim, state_dim        elements of a head, of its rotated part, of its state
//   epsilon, norm_epsilon                                      added under the root of a norm
//   tables, geometry                                           where the cache's blocks have keys and values (KVBlocks)
//   runs, num_runs, state_offset                               the sequences of the rows (RecurrentRun), how many they
//                                                              are, and bytes from a block's start to this state

#ifndef SKALD_KERNELS_ARGS_H_
#define SKALD_KERNELS_ARGS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "skald/base/numbers/activation.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/kernel_limits.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"

namespace skald {

/// Positions merged at a time by the online softmax. A span begins at a multiple of this position whatever the block
/// size, chunk or batch, so the order of every sum is fixed (arithmetic contract, R5). Changing it changes results.
inline constexpr size_t kAttentionSpan = 128;

/// Copies rows of floats to the input format of a matmul by weights of type T, padded with zeros.
template <class T>
struct PrepareArgs {
  const float* input;  ///< [rows, cols]
  size_t input_stride;
  Prepared<T> output;  ///< [rows, PaddedK<T>(cols)], in the order of PreparedIndex or QuantizedRows, in PreparedBytes
  size_t rows, cols;
  size_t row_begin, row_end;
  bool row_scale = false;  ///< where rows are quantised: all terms of a row share one scale
};

/// Rows that a matmul computes together, and terms of K whose activations for so many rows (1 MB of bfloat16) stay in a
/// core's second-level cache while the weights are read.
inline constexpr size_t kMatMulGroup = 256, kMatMulDepth = 2048;

/// Returns the floats that a matmul of so many rows needs for sums over a part of K; 0 if all of K is done at once, as
/// always for group-quantised weights.
constexpr size_t PartialSumsSize(size_t rows, size_t n, size_t padded_k) {
  const size_t group = std::min(kMatMulGroup, RoundUp(rows, 2 * kRowBlock));
  return group * padded_k <= kMatMulGroup * kMatMulDepth ? 0 : RoundUp(rows, 2 * kRowBlock) * RoundUp(n, kLanes);
}

/// output[r, n] = sum over k of input[r, k] * weights[n, k] (+ bias[n]), summed by R1, or by R2 for group-quantised
/// weights. Codes of floats are summed as these floats. With a gate, the first half of these n sums are gates and the
/// second half are gated, output[r, i] = Gate(sum[r, i]) * sum[r, n / 2 + i]: n is a multiple of 2 * kLanes, and panels
/// are counted over the first half.
template <class T>
struct MatMulArgs {
  Prepared<const T> input;  ///< [rows, padded_k], from Prepare, in PreparedBytes of memory
  const T* weights;         ///< packed [n, padded_k], see base/numbers/packed_layout.h and base/numbers/group_types.h
  const float* bias;        ///< [n] or null
  float* output;            ///< [rows, n], gated [rows, n / 2]
  size_t output_stride;
  size_t rows;
  size_t n;                             ///< outputs; the last panel may be partly padding, which is not written
  size_t padded_k;                      ///< PaddedK<T>(k)
  size_t row_begin, row_end;            ///< both multiples of 2 * kRowBlock, or `rows`
  size_t panel_begin, panel_end;        ///< panels of kLanes outputs
  float* partial_sums;                  ///< [PartialSumsSize], shared by the calls that compute one output
  std::optional<Activation> gate = {};  ///< unset: outputs are the sums
  /// Read only with a gate. If not null, n / 2 is a multiple of kTile, and outputs are written here instead of to
  /// `output`: rounded and in the order of PreparedIndex, the input format of a following matmul by bf16.
  bf16* prepared_output = nullptr;  ///< [rows, n / 2], in PreparedBytes of memory
};

/// output[r, :] = scale * table[token[r], :], read from a packed matrix.
template <class T>
struct EmbedArgs {
  const T* table;         ///< packed [vocab, padded_k]
  const int32_t* tokens;  ///< [rows]
  float* output;          ///< [rows, cols]
  size_t output_stride;
  size_t cols, padded_k;
  float scale;  ///< of every element
  size_t row_begin, row_end;
};

/// RMSNorm, Zhang and Sennrich 2019 (arXiv:1910.07467):
/// output = input / sqrt(mean(input^2) + epsilon) * weight, the sum of squares in the order of R3.
struct NormArgs {
  const float* input;  ///< [rows, cols]
  size_t input_stride;
  const float* weight;  ///< [cols] or null; models that multiply by (1 + w) store 1 + w here
  float* output;        ///< [rows, cols]; may be `input`
  size_t output_stride;
  size_t cols;
  float epsilon;
  size_t row_begin, row_end;
};

/// LayerNorm, Ba, Kiros and Hinton 2016 (arXiv:1607.06450): with d = input - mean(input),
/// output = d / sqrt(mean(d^2) + epsilon) * weight + bias, both sums in the order of R3.
struct LayerNormArgs {
  const float* input;  ///< [rows, cols]
  size_t input_stride;
  const float* weight;  ///< [cols] or null
  const float* bias;    ///< [cols] or null; null without a weight
  float* output;        ///< [rows, cols]; may be `input`
  size_t output_stride;
  size_t cols;
  float epsilon;
  size_t row_begin, row_end;
};

/// accumulator += addend, elementwise.
struct AddArgs {
  float* accumulator;   ///< [size]
  const float* addend;  ///< [size]
  size_t begin, end;
};

/// A function of a factor before it multiplies, or of rows by themselves.
enum class FactorFunction : uint8_t { kNone, kSigmoid, kSilu, kTanh };

/// values[r, i] *= function(factors[r, i]).
struct MultiplyArgs {
  float* values;  ///< [rows, cols]
  size_t value_stride;
  const float* factors;  ///< [rows, cols]
  size_t factor_stride;
  FactorFunction function;  ///< of factors
  size_t cols;
  size_t row_begin, row_end;
};

/// values = function(values), elementwise.
struct ApplyArgs {
  FactorFunction function;  ///< of each value
  float* values;            ///< [size]
  size_t begin, end;
};

/// output[r, i] = Gate(gate_up[r, i]) * gate_up[r, cols + i], or a function of both.
struct GateArgs {
  Activation gate;       ///< of the first half of each row
  const float* gate_up;  ///< [rows, 2 * cols], tightly packed
  float* output;         ///< [rows, cols], tightly packed
  size_t cols;
  size_t row_begin, row_end;
};

/// values = activation(values), elementwise.
struct ActivateArgs {
  Activation activation;  ///< of each value
  float* values;          ///< [size]
  size_t begin, end;
};

/// values = cap * tanh(values / cap), elementwise.
struct SoftcapArgs {
  float* values;  ///< [size]
  float cap;      ///< positive
  size_t begin, end;
};

/// Rotates the first `heads` heads of each row by that row's angles (half-split layout). With rotary_dim < head_dim
/// only the first elements of a head are rotated.
struct RopeArgs {
  float* rows;  ///< [rows, >= heads * head_dim], rotated in place
  size_t row_stride;
  const float* cos;  ///< [rows, rotary_dim / 2]
  const float* sin;  ///< [rows, rotary_dim / 2]
  size_t heads, head_dim, rotary_dim;
  size_t row_begin, row_end;
};

/// The place of one layer's keys and values in a block of cached tokens. A block is a byte array; each kv head's keys
/// are a packed [block_tokens, RoundUp(head_dim, kTile)] matrix (N = positions, K = head dim), and its values a packed
/// [RoundUp(head_dim, kLanes), block_tokens] matrix (N = head dim, K = positions). If they are int8 codes, a float
/// [kv_heads, block_tokens] follows the keys and another the values: the scale of each token's codes in each head.
struct KVGeometry {
  size_t kv_heads, head_dim;
  size_t block_tokens;  ///< a multiple of kTile
  size_t key_offset;    ///< bytes from the start of a block to this layer's keys, [kv_heads] matrices
  size_t value_offset;  ///< bytes from the start of a block to this layer's values, [kv_heads] matrices
  /// Not 0: values are the last so many elements of keys, after an even number of others, and are not stored
  /// separately.
  size_t latent_dim = 0;

  /// Elements of a value head.
  constexpr size_t value_dim() const { return latent_dim == 0 ? head_dim : latent_dim; }
};

/// The blocks of one sequence: block i holds positions [i * block_tokens, (i + 1) * block_tokens).
struct KVBlocks {
  std::byte* const* blocks;  ///< indexed by (block - first_block)
  size_t first_block;        ///< earlier blocks were released: out of every window
};

/// Writes the keys and values of rows, rounded to T, into their blocks; as codes if T is int8_t.
struct StoreKVArgs {
  const float* keys;          ///< [rows, kv_heads * head_dim], already rotated
  const float* values;        ///< [rows, kv_heads * head_dim]; not read if they are elements of keys
  size_t stride;              ///< of both, in floats
  const uint32_t* positions;  ///< [rows]
  const uint32_t* sequences;  ///< [rows], index into `tables`
  const KVBlocks* tables;
  KVGeometry geometry;
  size_t row_begin, row_end;
};

/// Copies `count` cached tokens from one place to another and rotates their keys by a further angle, for tokens whose
/// position changed; keys are rounded again. Each range is inside one block.
struct MoveKVArgs {
  const std::byte* source;                 ///< a block
  std::byte* target;                       ///< a block
  size_t source_slot, target_slot, count;  ///< token index inside the block
  const float* cos;                        ///< [rotary_dim / 2], of the change in position
  const float* sin;                        ///< [rotary_dim / 2]
  size_t rotary_dim;
  KVGeometry geometry;
};

/// Attention of each row's queries over the keys and values at positions (position - window, position], or [0,
/// position] when window is 0, or from the last multiple of window on: softmax(cap(scale * q . k)) v, online softmax
/// over spans of kAttentionSpan positions (Milakov and Gimelshein 2018, arXiv:1805.02867), arithmetic by R5. A unit is
/// one query head of one row: unit = (kv_head * rows + row) * group + head in the group of query heads that share the
/// kv head. The units of one kv head are computed together for neighbouring rows of one sequence with consecutive
/// positions.
struct AttentionArgs {
  const float* queries;  ///< [rows, heads * head_dim], already rotated
  size_t query_stride;
  float* output;  ///< [rows, heads * value_dim()]
  size_t output_stride;
  const uint32_t* positions;  ///< [rows]
  const uint32_t* sequences;  ///< [rows], index into `tables`
  const KVBlocks* tables;
  KVGeometry geometry;
  size_t rows;
  size_t heads;
  size_t window;                 ///< positions, the row's own included; 0: all
  bool chunked = false;          ///< instead those from the last multiple of `window` on
  float scale;                   ///< of scores
  float softcap;                 ///< 0: no cap
  const float* sinks = nullptr;  ///< [heads] or null: scores that are added to the softmax beside those of positions
  /// [sequences], how many positions each has, for rows that see positions before and after their own, with a window
  /// those less than it away; null for rows that see no later ones.
  const uint32_t* lengths = nullptr;
  /// [heads, 2 * bias_reach + 1], what is added to scores, the distance 0 in the middle: for a key after the query to
  /// the right of it. Every visible key is at least kTile nearer than bias_reach. Null: nothing.
  const float* bias = nullptr;
  size_t bias_reach = 0;  ///< see bias
  size_t unit_begin, unit_end;

  /// Returns the first position that a row sees.
  size_t FirstVisible(size_t row) const {
    const size_t position = positions[row];
    if (chunked) return position / window * window;
    return window != 0 && position >= window ? position + 1 - window : 0;
  }
};

/// Where the state of a recurrence is written after row `row_end` - 1 of a run. Until the kernel returns, the block may
/// hold the state after an earlier row.
struct StateOutput {
  size_t row_end;
  std::byte* block;  ///< that gets the state, at state_offset bytes
};

/// Rows [row_begin, row_end) of one sequence, in order of time, and the blocks with its recurrent state before and
/// after them. The last output may be `input` itself.
struct RecurrentRun {
  size_t row_begin, row_end;
  const std::byte* input;      ///< state before the first row; null: the row is the first of its sequence
  const StateOutput* outputs;  ///< [num_outputs], ascending; the last one has row_end = this row_end
  size_t num_outputs;          ///< of `outputs`
};

/// Causal depthwise convolution over time: output[t, c] = f(bias[c] + sum over k of weights[k, c] *
/// input[t - taps + 1 + k, c]), one FMA chain over ascending k that begins with the bias. Inputs before a run are the
/// state [taps - 1, channels] at state_offset of its input block, oldest first, or zero.
struct ConvArgs {
  const float* input;  ///< [rows, channels]
  size_t input_stride;
  const float* weights;      ///< [taps, channels]; the last tap multiplies the row itself
  const float* bias;         ///< [channels], or null
  float* output;             ///< [rows, channels], tightly packed
  size_t channels, taps;     ///< shape of `weights`
  bool silu;                 ///< f is SiLU, else the identity
  const RecurrentRun* runs;  ///< [num_runs], covering the rows in order
  size_t num_runs;
  size_t state_offset;  ///< bytes
  size_t row_begin, row_end;
};

/// RG-LRU, De et al. 2024 (arXiv:2402.19427), section 2.4, with the gate of the recurrent block around it. With
/// i = sigmoid(input gate), r = sigmoid(recurrence gate) and log a = decay * r:
///   h[t] = a h[t - 1] + sqrt(1 - a^2) (i x[t]);   output[t] = h[t] * GeluTanh(gate[t]).
/// The first token of a sequence has a = 0, and 1 in place of the root. State: [width] floats at state_offset.
/// A unit is kLanes channels of one run: unit = run * RoundUp(width, kLanes) / kLanes + lane group.
struct RgLruArgs {
  const float* input;  ///< [rows, width], tightly packed
  const float* gates;  ///< [rows, 2 * width], tightly packed: input gates, then recurrence gates, before the sigmoid
  const float* gate;   ///< [rows, width], of the block, before its GELU
  size_t gate_stride;
  const float* decay;  ///< [width], -8 * softplus(recurrent_param)
  float* output;       ///< [rows, width], tightly packed
  size_t width;
  const RecurrentRun* runs;
  size_t state_offset;
  size_t unit_begin, unit_end;
};

/// Selective scan of Mamba, Gu and Dao 2023 (arXiv:2312.00752), section 3.2, with its gate. With d = softplus(dt):
///   h[n] = exp(d decay[n]) h[n] + (d x) B[n];   output = (sum over n of C[n] h[n], ascending, + skip x) * SiLU(gate).
/// State: [state_dim, width] floats at state_offset. Units as in RgLruArgs.
struct SelectiveScanArgs {
  const float* input;      ///< x: [rows, width], tightly packed
  const float* time_step;  ///< dt: [rows, width], tightly packed, bias included
  const float* b;          ///< [rows, state_dim]
  const float* c;          ///< [rows, state_dim]
  size_t bc_stride;        ///< of both
  const float* gate;       ///< [rows, width]
  size_t gate_stride;
  const float* decay;  ///< [state_dim, width], -exp(A_log) transposed
  const float* skip;   ///< D: [width]
  float* output;       ///< [rows, width], tightly packed
  size_t width, state_dim;
  const RecurrentRun* runs;
  size_t state_offset;
  size_t unit_begin, unit_end;
};

/// Recurrence of Mamba-2, Dao and Gu 2024 (arXiv:2405.21060), with its gate. For each head, with
/// d = clamp(softplus(dt + bias), time_step_min, time_step_max):
///   h[n, p] = exp(d decay) h[n, p] + (d x[p]) B[n];
///   output[p] = (sum over n of C[n] h[n, p], ascending, + skip x[p]) * SiLU(gate[p]).
/// State: [heads, state_dim, head_dim] floats at state_offset. A unit is one head of one run: unit = run * heads +
/// head.
struct StateSpaceArgs {
  const float* input;  ///< [rows, channels], tightly packed: x [heads * head_dim], B [groups * state_dim], C likewise
  const float* time_step;  ///< dt: [rows, heads]
  size_t time_step_stride;
  const float* time_step_bias;         ///< [heads]
  float time_step_min, time_step_max;  ///< bounds of d
  const float* gate;                   ///< [rows, heads * head_dim]
  size_t gate_stride;
  const float* decay;  ///< [heads], -exp(A_log)
  const float* skip;   ///< D: [heads]
  float* output;       ///< [rows, heads * head_dim], tightly packed
  size_t heads, head_dim, groups, state_dim;
  const RecurrentRun* runs;
  size_t state_offset;
  size_t unit_begin, unit_end;
};

/// Recurrence of a gated delta net, Yang et al. 2024 (arXiv:2412.06464), equation 10. For each value head, with
/// a = exp(decay softplus(dt + bias)) and beta = sigmoid(b), and q and k those of the key head that it shares:
///   u[p] = beta (v[p] - a (sum over n of k[n] h[n, p]));   h[n, p] = a h[n, p] + k[n] u[p];
///   output[p] = sum over n of q[n] h[n, p].
/// State: [value_heads, key_dim, value_dim] floats at state_offset. A unit is one value head of one run:
/// unit = run * value_heads + head.
struct DeltaNetArgs {
  /// [rows, channels], tightly packed: q [key_heads * key_dim], k likewise, v [value_heads * value_dim]; q and k are
  /// scaled already.
  const float* input;
  const float* rates;           ///< [rows, 2 * value_heads], tightly packed: b, then dt
  const float* time_step_bias;  ///< [value_heads]
  const float* decay;           ///< [value_heads], -exp(A_log)
  float* output;                ///< [rows, value_heads * value_dim], tightly packed
  size_t key_heads, value_heads, key_dim, value_dim;
  bool tiled;  ///< value head i shares key head i % key_heads; else value_heads / key_heads neighbours share one
  const RecurrentRun* runs;
  size_t state_offset;
  size_t unit_begin, unit_end;
};

/// Recurrence of Kimi delta attention, Kimi Team 2025 (arXiv:2510.26692): a gated delta net whose state decays by keys.
/// For each head, with d[n] = exp(decay softplus(f[n] + bias[n])) and beta = sigmoid(b):
///   u[p] = beta (v[p] - sum over n of (k[n] d[n]) h[n, p]);   h[n, p] = d[n] h[n, p] + k[n] u[p];
///   output[p] = sum over n of q[n] h[n, p].
/// State: [heads, head_dim, head_dim] floats at state_offset. A unit is one head of one run: unit = run * heads + head.
struct KimiDeltaArgs {
  const float* input;           ///< [rows, 3 * heads * head_dim], tightly packed: q, k, v; q and k are scaled already
  const float* decay_input;     ///< f: [rows, heads * head_dim], tightly packed
  const float* rates;           ///< b: [rows, heads], tightly packed
  const float* time_step_bias;  ///< [heads * head_dim]
  const float* decay;           ///< [heads], -exp(A_log)
  float* output;                ///< [rows, heads * head_dim], tightly packed
  size_t heads, head_dim;       ///< head_dim is at most kMaxHeadDim
  const RecurrentRun* runs;
  size_t state_offset;
  size_t unit_begin, unit_end;
};

/// Recurrence of RWKV-6, Peng et al. 2024 (arXiv:2404.05892), section 4.1.2, for each head. With d[n] =
/// exp(-exp(w[n])):
///   output[p] = sum over n of r[n] ((bonus[n] k[n]) v[p] + h[n, p]);   h[n, p] = d[n] h[n, p] + k[n] v[p].
/// State: [heads, head_dim, head_dim] floats at state_offset. A unit is one head of one run: unit = run * heads + head.
struct DecayedSumArgs {
  const float* input;      ///< [rows, 4 * heads * head_dim], tightly packed: r, w, k, v
  const float* bonus;      ///< [heads * head_dim]
  float* output;           ///< [rows, heads * head_dim], tightly packed
  size_t heads, head_dim;  ///< head_dim is at most kMaxHeadDim
  const RecurrentRun* runs;
  size_t state_offset;
  size_t unit_begin, unit_end;
};

/// Token shift of RWKV: each row mixed with the one before it in its sequence, in several ways.
///   output[t, m, c] = input[t, c] + (input[t - 1, c] - input[t, c]) mix[m, c], the addition fused.
/// With mixes of rows, mix[m, c] + row_mixes[t, m, c], rounded, takes the place of mix[m, c].
/// The row before a run is the state, [channels] floats at state_offset of its input block, or zero.
struct TokenShiftArgs {
  const float* input;  ///< [rows, channels]
  size_t input_stride;
  const float* mix;          ///< [mixes, channels]
  const float* row_mixes;    ///< [rows, mixes, channels], tightly packed, or null
  float* output;             ///< [rows, mixes, channels], tightly packed
  size_t channels, mixes;    ///< shape of `mix`
  const RecurrentRun* runs;  ///< [num_runs], covering the rows in order
  size_t num_runs;
  size_t state_offset;
  size_t row_begin, row_end;
};

/// The recurrence of one RWKV-7 head and its output (Peng et al. 2025, arXiv:2503.14456, section 4.1). With
/// d = exp(-e^(-1/2) sigmoid(w)), a = sigmoid(rate), kk = k key_scale divided by its length, and
/// l = k (1 + (a - 1) rate_scale), and with first values v + (first - v) sigmoid(blend) instead of v:
///   u[p] = sum over n of kk[n] h[n, p];   h[n, p] = d[n] h[n, p] + (l[n] v[p] - (kk[n] a[n]) u[p]);
///   y[p] = sum over n of r[n] h[n, p];
///   output = (LayerNorm(y) + (sum over n of r[n] l[n] bonus[n]) v) gate.
/// State: [heads, head_dim, head_dim] floats at state_offset. A unit is one head of one run: unit = run * heads + head.
struct TimeMixArgs {
  const float* input;         ///< [rows, 6 * heads * head_dim], tightly packed: r, w, k, v, rate, gate
  const float* first_values;  ///< [rows, heads * head_dim] with `first_stride`, or null
  size_t first_stride;
  const float* blend;        ///< [rows, heads * head_dim], tightly packed; null without first values
  const float* key_scale;    ///< [heads * head_dim]
  const float* rate_scale;   ///< [heads * head_dim]
  const float* bonus;        ///< [heads * head_dim]
  const float* norm_weight;  ///< [heads * head_dim], of LayerNorm, each head by itself
  const float* norm_bias;    ///< [heads * head_dim]
  float norm_epsilon;
  float* output;           ///< [rows, heads * head_dim], tightly packed
  size_t heads, head_dim;  ///< head_dim is at most kMaxHeadDim
  const RecurrentRun* runs;
  size_t state_offset;
  size_t unit_begin, unit_end;
};

}  // namespace skald

#endif  // SKALD_KERNELS_ARGS_H_
