// SPDX-License-Identifier: Apache-2.0
//
// ForwardPass: computes a planned step, pass by pass, from the tokens to the outputs. Reads the weights, writes the
// step's blocks and the workspace; publishing the step is the caller's business. All memory that it needs is there once
// it is made, before the step takes its blocks: nothing but hooks, and an executor that throws, can stop it then.

#ifndef SKALD_MODEL_DETAIL_FORWARD_H_
#define SKALD_MODEL_DETAIL_FORWARD_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/base/threads/parallel.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/layout/layout.h"
#include "skald/cache/steps/step_plan.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/model_weights.h"
#include "skald/layers/run/adapted_rows.h"
#include "skald/layers/run/layer_run.h"
#include "skald/layers/run/operations.h"
#include "skald/layers/run/weight_kernels.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/model/detail/model_places.h"
#include "skald/model/detail/other_caches.h"
#include "skald/model/detail/output_head.h"
#include "skald/model/detail/pass_states.h"
#include "skald/model/detail/per_layer_inputs.h"
#include "skald/model/detail/step_blocks.h"
#include "skald/model/detail/step_replays.h"
#include "skald/model/detail/step_states.h"
#include "skald/model/detail/wanted_rows.h"
#include "skald/model/detail/watched_places.h"
#include "skald/model/forward_options.h"
#include "skald/model/rotation.h"
#include "skald/model/workspace.h"

namespace skald {

// How caches of one layout rotate: their token limit may decide on it.
struct CacheRotations {
  uint64_t fingerprint;             // of the layout
  std::vector<Rotation> of_groups;  // [groups]
};

// The properties of a model that Forward needs besides its weights. Immutable.
struct ModelTables {
  CacheLayout layout;
  std::vector<CacheRotations> rotations;   // for every layout that caches of the model may have
  std::span<const WeightKernels> kernels;  // for every type of weights
  // Of every layer of every block, in order; layers are those that this rank computes.
  std::vector<LayerSpec> layers;
  std::vector<LayerFunction> functions;
  std::vector<std::optional<LayerSlot>> slots;  // of every layer, in the same order: where it has or reads its state
  PassGroups pass_groups;
  // The matrices of all layers, by which activations are multiplied.
  std::vector<const Matrix*> matrices;
  MatrixNumbers numbers;  // of these
  ModelPlaces places;     // where hooks can be
  // Block-diagonal ones, and the columns of the activations.
  std::vector<std::pair<const std::vector<Matrix>*, size_t>> block_matrices;

  // Returns the rotations of the caches of a pool, or null for one of another model. One that keeps states where the
  // model can replay will do.
  const CacheRotations* RotationsOf(const BlockPool& pool) const {
    const auto found = std::ranges::find(rotations, pool.fingerprint(), &CacheRotations::fingerprint);
    if (found == rotations.end()) return nullptr;
    const auto replays_as_here = [](const CacheGroup& theirs, const CacheGroup& ours) {
      return theirs.input_floats == 0 || theirs.input_floats == ours.input_floats;
    };
    const bool fits = std::ranges::equal(pool.layout().layer_groups(), layout.layer_groups(), replays_as_here);
    return fits ? &*found : nullptr;
  }
};

class ForwardPass {
 public:
  // `tokens[s]` are those of the plan's sequence s, and `pools`, which are of one layout of the model, the pools that
  // its numbers refer to; blocks need not be there yet. `adapters[s]` is that of sequence s or null; none at all where
  // no sequence has one. `watched` are the places that have hooks, or null. `types[s]` are those of the tokens of
  // sequence s, or none, which means 0; none at all where all are. Layers that see both ways need passes of whole
  // sequences. `beside[s]` is the cache that they read instead, in models that read another's; checked. All that is
  // referred to must outlive this object.
  ForwardPass(const ModelWeights& weights, const ModelTables& tables, const StepPlan& plan,
              std::vector<std::span<const int32_t>> tokens, std::span<BlockPool* const> pools, Workspace& workspace,
              const ForwardOptions& options, std::span<const Adapter* const> adapters,
              std::unique_ptr<WatchedPlaces> watched, std::span<const std::span<const int32_t>> types = {},
              std::span<const KVCache* const> beside = {})
      : weights_(weights),
        spec_(weights.spec),
        tables_(tables),
        plan_(plan),
        tokens_(std::move(tokens)),
        types_(types),
        pools_(PoolsOf(plan, pools)),
        rotations_(tables.RotationsOf(*pools_.front())->of_groups),
        watched_(std::move(watched)),
        act_(workspace.activations),
        outputs_(workspace.outputs),
        adapted_(MakeAdaptedRows(tables, adapters, plan, act_.adapters)),
        ops_(workspace.executor(), workspace.activations.matmul, tables.kernels, adapted_.get(), options.ranks,
             &options.matrix_observer),
        head_(weights, ops_),
        per_layer_(weights, ops_),
        carried_dim_(CarriedDim(spec_)),
        wanted_(LargestPass(plan)),
        blocks_(plan, pools_),
        states_(plan, pools_),
        replays_(plan, pools_),
        pass_states_(GroupsKept(tables, beside), weights, plan, act_),
        other_caches_(tables.pass_groups, beside) {
    ReserveActivations(wanted_.most());
    ReserveOutputs();
  }

  // Computes every pass. Logits and hidden states go to the workspace's output buffers, each in the order of rows.
  // Fails only where ranks do not answer, or a hook says so.
  Result<void> Run() {
    blocks_.Prepare(rotations_, ops_.executor());
    states_.Prepare();
    replays_.Prepare();
    pass_states_.Prepare();
    float* logits = outputs_.logits.data();
    float* hidden = outputs_.hidden.data();
    for (const Pass& pass : plan_.passes) {
      wanted_.BeginPass(pass, plan_, tokens_);
      if (spec_.token_types > 0) wanted_.TakeTypes(pass, types_);
      if (adapted_ != nullptr) adapted_->BeginPass(wanted_.rows.sequences);
      blocks_.BeginPass(pass);
      states_.BeginPass(pass);
      if (watched_ != nullptr) watched_->BeginPass(wanted_.rows);
      RunBlocks(wanted_.rows);
      if (!goes_on()) break;
      head_.Logits(act_.hidden.data(), wanted_.logit_rows, act_.normed.data(), logits);
      head_.Normalize(act_.hidden.data(), wanted_.hidden_rows, hidden);
      if (watched_ != nullptr) {
        watched_->ShowRows(tables_.places.logits(), wanted_.logit_rows, {logits, head_.vocab_size()});
      }
      if (!goes_on()) break;
      logits += wanted_.logit_rows.size() * head_.vocab_size();
      hidden += wanted_.hidden_rows.size() * model_dim();
    }
    if (watched_ != nullptr && !watched_->status()) return watched_->status();
    return stopped() ? Result<void>() : ops_.status();
  }

  // Whether a hook has ended the step.
  bool stopped() const { return watched_ != nullptr && watched_->stops(); }

 private:
  // The groups whose keys and values are made here.
  static const PassGroups& GroupsKept(const ModelTables& tables, std::span<const KVCache* const> beside) {
    static const PassGroups kNone;
    return beside.empty() ? tables.pass_groups : kNone;
  }

  // [sequences]
  static std::vector<BlockPool*> PoolsOf(const StepPlan& plan, std::span<BlockPool* const> pools) {
    std::vector<BlockPool*> of_sequences;
    for (const SequencePlan& sequence : plan.sequences) of_sequences.push_back(pools[sequence.pool]);
    return of_sequences;
  }

  static std::unique_ptr<AdaptedRows> MakeAdaptedRows(const ModelTables& tables,
                                                      std::span<const Adapter* const> adapters, const StepPlan& plan,
                                                      AdapterScratch& scratch) {
    if (adapters.empty()) return nullptr;
    return std::make_unique<AdaptedRows>(tables.numbers, adapters, LargestPass(plan), scratch);
  }

  size_t CountWanted(Want want) const {
    size_t count = 0;
    for (const SequencePlan& sequence : plan_.sequences) {
      count += static_cast<size_t>(std::count(sequence.wants.begin(), sequence.wants.end(), want));
    }
    return count;
  }

  // Grows the workspace's buffers to what passes of `rows` rows need.
  void ReserveActivations(size_t rows) {
    Reserve(act_.hidden, rows * model_dim());
    Reserve(act_.normed, rows * model_dim());
    Reserve(act_.block_output, rows * model_dim());
    per_layer_.Reserve(rows, act_);
    Reserve(act_.carried, rows * carried_dim_);
    const size_t groups = tables_.layout.groups().size(), all = groups + tables_.pass_groups.groups.size();
    if (act_.cos.size() < all) act_.cos.resize(all);
    if (act_.sin.size() < all) act_.sin.resize(all);
    for (size_t g = 0; g < all; ++g) {
      const CacheGroup& group = g < groups ? tables_.layout.groups()[g] : tables_.pass_groups.groups[g - groups];
      Reserve(act_.cos[g], rows * group.rotary_dim / 2);
      Reserve(act_.sin[g], rows * group.rotary_dim / 2);
    }
    for (const LayerSpec& layer : tables_.layers) {
      layer.Reserve(std::max(rows, replays_.most_rows()), model_dim(), act_.scratch);
    }
    for (const Block& block : spec_.blocks) {
      if (block.layers.size() > 1) Reserve(act_.second, rows * model_dim());
      if (block.beside_previous) Reserve(act_.waiting, rows * model_dim());
    }
    for (const Matrix* matrix : tables_.matrices) {
      ReserveMatMul(*matrix, rows, act_.matmul);
      ReserveGathers(*matrix, std::max(rows, Operations::kMostRowsTogether), act_.matmul.gathers);
    }
    ReserveGathers(weights_.embedding, rows, act_.matmul.gathers);
    ReserveGathers(weights_.position_embedding, rows, act_.matmul.gathers);
    for (const auto& [blocks, cols] : tables_.block_matrices) ReserveBlockMatMul(*blocks, cols, rows, act_.matmul);
    if (adapted_ == nullptr) return;
    adapted_->Reserve([&](const Matrix& matrix) { ReserveMatMul(matrix, rows, act_.matmul); });
  }

  void ReserveOutputs() {
    const size_t num_logits = CountWanted(Want::kLogits);
    Reserve(outputs_.logits, num_logits * head_.vocab_size());
    Reserve(outputs_.hidden, CountWanted(Want::kHidden) * model_dim());
    if (num_logits > 0) head_.Reserve(std::min(num_logits, wanted_.most()), act_);
  }

  size_t model_dim() const { return head_.model_dim(); }
  Rows Stream(AlignedBuffer<float>& buffer) const { return {buffer.data(), model_dim()}; }

  void RunBlocks(const PassRows& rows) {
    ComputeAngles(rows);
    ops_.Embed(weights_.embedding, rows.tokens, EmbeddingFactor(spec_), Stream(act_.hidden));
    if (adapted_ != nullptr) {
      adapted_->AddEmbedded(ops_, &Adapter::tokens, rows.tokens, EmbeddingFactor(spec_), Stream(act_.hidden));
    }
    EmbedTypesAndPositions(rows);
    if (spec_.embedding_norm) {
      spec_.embedding_norm->Run(weights_.embedding_norm, ops_, Stream(act_.hidden), rows.size(), Stream(act_.hidden));
    }
    per_layer_.Compute(rows, Stream(act_.hidden), act_);
    size_t layer = 0;  // of all blocks, in order
    for (size_t b = 0; b < spec_.blocks.size() && goes_on(); ++b) {
      RunBlock(b, layer, rows);
      layer += spec_.blocks[b].layers.size();
    }
    is_replayed_ = true;
    if (goes_on()) Show(tables_.places.last_stream(), act_.hidden);
  }

  // `layer` is the number of its first one.
  void RunBlock(size_t b, size_t layer, const PassRows& rows) {
    const Block& block = spec_.blocks[b];
    const BlockWeights& weights = weights_.blocks[b];
    const ModelPlaces::OfBlock& places = tables_.places.block(b);
    if (!Show(places.stream, act_.hidden)) return;
    const Rows input = Stream(block.norm ? act_.normed : act_.hidden);
    if (block.norm) block.norm->Run(weights.norm, ops_, Stream(act_.hidden), rows.size(), input);
    if (block.normed_multiplier != 0.0f) ContinueWith(input, rows.size(), block.normed_multiplier);
    if (!ShowInput(places.input, input)) return;
    for (size_t i = 0; i < block.layers.size(); ++i) {
      AlignedBuffer<float>& output = i == 0 ? act_.block_output : act_.second;
      LayerRun run = RunOf(tables_.slots[layer + i], rows, input, Stream(output));
      if (const auto group = tables_.pass_groups.of_layers[layer + i]) run.cache = CacheOfPass(*group);
      if (spec_.per_layer_dim > 0) run.per_layer = per_layer_.Of(block.number, act_);
      RunLayer(layer + i, *weights.layers[i], run);
      if (!goes_on() || !Show(tables_.places.layer(layer + i).output, output)) return;
      if (i > 0) ops_.Add(act_.block_output.data(), output.data(), rows.size() * model_dim());
    }
    if (block.post_norm) {
      const Rows output = Stream(act_.block_output);
      if (block.norms_sum) ops_.Add(act_.block_output.data(), act_.hidden.data(), rows.size() * model_dim());
      block.post_norm->Run(weights.post_norm, ops_, output, rows.size(), output);
    }
    const size_t size = rows.size() * model_dim();
    if (block.residual_multiplier != 1.0f) ops_.Scale(act_.block_output.data(), size, block.residual_multiplier);
    if (!Show(places.added, act_.block_output)) return;
    const bool waits = b + 1 < spec_.blocks.size() && spec_.blocks[b + 1].beside_previous;
    if (waits) std::copy_n(act_.block_output.data(), size, act_.waiting.data());
    if (block.beside_previous) ops_.Add(act_.hidden.data(), act_.waiting.data(), size);
    if (!waits) ops_.Add(act_.hidden.data(), act_.block_output.data(), size);
    if (block.learned_scale) ops_.Scale(act_.hidden.data(), size, weights.scale.front());
    if (block.stream_norm) {
      const Rows stream = Stream(act_.hidden);
      block.stream_norm->Run(weights.stream_norm, ops_, stream, rows.size(), stream);
    }
  }

  // The residual stream becomes `rows` times `multiplier`.
  void ContinueWith(Rows rows, size_t count, float multiplier) {
    ops_.Copy(rows, count, model_dim(), Stream(act_.hidden));
    if (multiplier != 1.0f) ops_.Scale(act_.hidden.data(), count * model_dim(), multiplier);
  }

  void RunLayer(size_t layer, const LayerWeights& weights, LayerRun run) {
    if (!is_replayed_) Replay(layer, weights, run);
    if (watched_ != nullptr) run.watcher = watched_->InLayer(layer);
    tables_.functions[layer].run(tables_.layers[layer], weights, run);
    if (watched_ != nullptr) ShowState(layer, run.state);
  }

  // Adds what models embed beside the tokens.
  void EmbedTypesAndPositions(const PassRows& rows) {
    const auto add = [&](const Matrix& embedding, std::span<const int32_t> numbers) {
      ops_.Embed(embedding, numbers, 1.0f, Stream(act_.block_output));
      ops_.Add(act_.hidden.data(), act_.block_output.data(), rows.size() * model_dim());
    };
    if (spec_.token_types > 0) {
      add(weights_.type_embedding, rows.types);
      if (adapted_ != nullptr) adapted_->AddEmbedded(ops_, &Adapter::types, rows.types, 1.0f, Stream(act_.hidden));
    }
    if (spec_.positions == 0) return;
    std::vector<int32_t> numbers;
    for (const uint32_t position : rows.positions) {
      numbers.push_back(static_cast<int32_t>(position) + spec_.first_position);
    }
    add(weights_.position_embedding, numbers);
  }

  LayerCache CacheOfPass(size_t group) const {
    const size_t at = rotations_.size() + group;
    if (!other_caches_.empty()) return other_caches_.CacheOf(group, act_.cos[at].data(), act_.sin[at].data());
    return pass_states_.CacheOf(group, act_.cos[at].data(), act_.sin[at].data());
  }

  // Brings the states of one layer up to date, just before it reads them; as `run` but for its state.
  void Replay(size_t layer, const LayerWeights& weights, LayerRun run) {
    const std::optional<LayerSlot>& slot = tables_.slots[layer];
    if (!slot) return;
    for (const StateReplay& replay : replays_.of_group(slot->group)) {
      run.state.runs = {&replay.run, 1};
      run.state.inputs = replay.inputs;
      tables_.functions[layer].replay(tables_.layers[layer], weights, run);
    }
  }

  // Whether neither ranks nor hooks have ended the step.
  bool goes_on() const { return ops_.status() && (watched_ == nullptr || watched_->goes_on()); }

  // Shows rows of the model's width at a place. Returns whether the step goes on.
  bool Show(size_t place, AlignedBuffer<float>& values) {
    if (watched_ == nullptr) return true;
    watched_->ShowAll(place, Stream(values));
    return watched_->goes_on();
  }

  // Hooks see a copy of the stream where that is what layers read.
  bool ShowInput(size_t place, Rows input) {
    if (watched_ == nullptr || !watched_->Has(place)) return true;
    if (input.data == act_.hidden.data()) {
      ops_.Copy(input, wanted_.rows.size(), model_dim(), Stream(act_.normed));
    }
    return Show(place, act_.normed);
  }

  // Of each sequence, after its last row.
  void ShowState(size_t layer, const LayerState& state) {
    const size_t place = tables_.places.layer(layer).state;
    if (!watched_->Has(place)) return;
    for (const RecurrentRun& run : state.runs) {
      const uint32_t last[] = {static_cast<uint32_t>(run.row_end - 1)};
      std::byte* const block = run.outputs[run.num_outputs - 1].block + state.offset;
      watched_->ShowRows(place, last, {reinterpret_cast<float*>(block), tables_.places.all()[place].part_cols});
    }
  }

  LayerRun RunOf(const std::optional<LayerSlot>& slot, const PassRows& rows, Rows input, Rows output) {
    LayerRun run = {.ops = ops_,
                    .scratch = act_.scratch,
                    .rows = rows,
                    .model_dim = model_dim(),
                    .input = input,
                    .output = output,
                    .cache = {},
                    .state = {},
                    .per_layer = {},
                    .carried = {act_.carried.data(), carried_dim_}};
    if (!slot) return run;
    const LayerSlot at = *slot;
    const BlockPool& pool = *pools_.front();  // all pools of a step store the same way
    const BlockGeometry& geometry = pool.geometry(at.group);
    const CacheGroup& group = pool.layout().groups()[at.group];
    if (group.is_recurrent()) {
      run.state = {.runs = states_.runs(at.group), .offset = geometry.StateOffset(at.index)};
      if (!group.is_replayed()) return run;
      const uint32_t inputs = pool.layout().InputsOf(at.group);
      run.state.inputs = states_.kept(inputs);
      run.state.input_offset = pool.geometry(inputs).StateOffset(at.index);
    } else {
      run.cache = {.kv_type = pool.runtime().kv_type,
                   .geometry = LayerGeometry(geometry, at.index),
                   .tables = blocks_.tables(at.group),
                   .cos = act_.cos[at.group].data(),
                   .sin = act_.sin[at.group].data()};
    }
    return run;
  }

  void ComputeAngles(const PassRows& rows) {
    const std::span<const Rotation> of_pass = tables_.pass_groups.rotations;
    for (size_t g = 0; g < rotations_.size() + of_pass.size(); ++g) {
      const Rotation& rotation = g < rotations_.size() ? rotations_[g] : of_pass[g - rotations_.size()];
      const size_t pairs = rotation.pairs();
      ParallelFor(ops_.executor(), rows.size(), pairs * 16, [&](size_t begin, size_t end) {
        for (size_t row = begin; row < end; ++row) {
          rotation.Angles(rows.positions[row], act_.cos[g].data() + row * pairs, act_.sin[g].data() + row * pairs);
        }
      });
    }
  }

  const ModelWeights& weights_;
  const ModelSpec& spec_;
  const ModelTables& tables_;
  const StepPlan& plan_;
  const std::vector<std::span<const int32_t>> tokens_;     // [sequences]
  const std::span<const std::span<const int32_t>> types_;  // [sequences], or none
  const std::vector<BlockPool*> pools_;                    // [sequences]
  const std::span<const Rotation> rotations_;              // [groups]
  const std::unique_ptr<WatchedPlaces> watched_;           // null without hooks
  Activations& act_;
  OutputBuffers& outputs_;
  const std::unique_ptr<AdaptedRows> adapted_;  // null where no sequence has an adapter
  Operations ops_;
  OutputHead head_;
  PerLayerInputs per_layer_;
  const size_t carried_dim_;
  WantedRows wanted_;
  StepBlocks blocks_;
  StepStates states_;
  StepReplays replays_;
  PassStates pass_states_;
  OtherCaches other_caches_;
  bool is_replayed_ = false;  // whether what is to be replayed has been
};

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_FORWARD_H_
