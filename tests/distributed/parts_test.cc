// SPDX-License-Identifier: Apache-2.0
//
// Each rank's parts of weights and state.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/distributed/partitioned_state.h"
#include "skald/layers/kinds/recurrent/rwkv/time_mix.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/model_weights.h"
#include "skald/model/load.h"
#include "skald/weights/parameters.h"
#include "skald/weights/partitioned_parameters.h"
#include "skald/weights/random_weights.h"
#include "skald/weights/types/matrix.h"
#include "tests/distributed/changed_model.h"
#include "tests/support/check_error.h"
#include "tests/support/own_types.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace parts_test {

TEST_CASE("items are partitioned one after the other, to the first ranks more than to the last") {
  for (size_t count = 0; count < 30; ++count) {
    for (size_t ranks = 1; ranks < 9; ++ranks) {
      size_t end = 0;
      for (size_t rank = 0; rank < ranks; ++rank) {
        const PartitionedRange range = Partition(count, {rank, ranks});
        CHECK(range.begin == end);
        CHECK(range.size() >= count / ranks);
        CHECK(range.size() <= Partition(count, {0, ranks}).size());
        end = range.end;
      }
      CHECK(end == count);
    }
  }
}

// Sections as some vector may have, from a seed.
std::vector<Axis> SomeSections(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Axis> sections(1 + random() % 5);
  for (Axis& section : sections) {
    section.units = random() % 7;
    section.sharers = 1 + random() % 3;
    section.is_copied = random() % 2 == 0;
    section.size = std::max<size_t>(section.units, 1) * section.sharers * (1 + random() % 3);
  }
  return sections;
}

// Whether each element of a section, the first of which is number `first`, is where it belongs: `found` counts ranks.
void CheckSection(const Axis& section, std::span<const size_t> found, size_t ranks) {
  const bool is_partitioned = ArePartitioned(section, ranks), is_copied = section.is_copied && section.units < ranks;
  if (!is_partitioned || !is_copied) {
    CHECK(std::ranges::count(found, is_partitioned ? 1u : ranks) == std::ssize(found));
    return;
  }
  CHECK(std::ranges::count(found, 0u) == 0);
  size_t sum = 0;
  for (const size_t count : found) sum += count;
  CHECK(sum == ranks * (section.size / section.units));  // each has a unit
}

TEST_CASE("each element of sections is on one rank where they are partitioned, on those that share it, or on all") {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    const std::vector<Axis> sections = SomeSections(seed);
    size_t all = 0;
    for (const Axis& section : sections) all += section.size;
    for (const size_t ranks : {1u, 2u, 3u, 5u, 8u}) {
      std::vector<size_t> found(all);
      for (size_t rank = 0; rank < ranks; ++rank) {
        size_t size = 0;
        for (const auto& [begin, end] : PartitionEach(sections, {rank, ranks})) {
          CHECK(begin < end);
          for (size_t i = begin; i < end; ++i, ++size) ++found[i];
        }
        CHECK(size == PartitionedSize(sections, {rank, ranks}));
      }
      size_t first = 0;
      for (const Axis& section : sections) {
        CheckSection(section, std::span(found).subspan(first, section.size), ranks);
        first += section.size;
      }
    }
  }
}

// A vector of some sections, and two parts of a block-diagonal matrix.
struct PartitionedWeights {
  std::vector<float> vector;
  std::vector<Matrix> blocks;

  PartitionedWeights(uint32_t seed, const RankShare& share) {
    const std::vector<Axis> sections = SomeSections(seed);
    size_t size = 0;
    for (const Axis& section : sections) size += section.size;
    ParameterList list;
    list.SetShare(share);
    list.AddArray(vector, {{"vector", {size}}}, {}, {}, sections);
    list.AddBlocks(blocks, {5, 5}, 3, {{"one", 2}, {"other", 2}});
    ThreadPool pool(1);
    FillWithRandom(list, seed, DType::kF32, ExecutorRef(pool));
  }
};

TEST_CASE("parts of vectors and of block-diagonal matrices are those of the whole ones") {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const PartitionedWeights whole(seed, {});
    REQUIRE(whole.blocks.size() == 10);
    for (const size_t ranks : {2u, 3u, 6u}) {
      for (size_t rank = 0; rank < ranks; ++rank) {
        const RankShare share = {rank, ranks};
        const PartitionedWeights part(seed, share);
        std::vector<float> expected;
        for (const auto& [begin, end] : PartitionEach(SomeSections(seed), share)) {
          for (size_t i = begin; i < end; ++i) expected.push_back(whole.vector[i]);
        }
        CHECK(part.vector == expected);
        const PartitionedRange here = ranks <= 5 ? Partition(5, share) : PartitionedRange{0, 5};
        REQUIRE(part.blocks.size() == 2 * here.size());
        for (size_t i = 0; i < part.blocks.size(); ++i) {
          const size_t number = i / here.size() * 5 + here.begin + i % here.size();
          const std::span<const std::byte> found = part.blocks[i].data, wanted = whole.blocks[number].data;
          CHECK(std::ranges::equal(found, wanted));
        }
      }
    }
  }
}

// Rows of a divided matrix that other ranks have besides the first that has them.
size_t RowsRepeated(const MatrixParameter& matrix, size_t ranks) {
  const std::vector<Axis> sections = internal::RowAxesOf(matrix);
  if (!ArePartitioned(sections, ranks)) return 0;
  size_t rows = 0;
  for (const Axis& section : sections) {
    if (!ArePartitioned(section, ranks)) {
      rows += (ranks - 1) * section.size;
    } else if (section.is_copied && section.units < ranks) {
      rows += (ranks - section.units) * (section.size / section.units);
    }
  }
  return rows;
}

SKALD_LAW("each row of a divided matrix is on one rank, or on all that need it", small) {
  const ModelWeights whole = *RandomWeights(small.spec, 5);
  size_t whole_rows = 0, whole_small = 0;
  const auto is_partitioned = [](const Matrix& matrix) { return matrix.division != nullptr; };
  for (const size_t ranks : {2u, 3u, 4u}) {
    size_t all = 0, kept = 0, repeated = 0, most_bytes = 0;
    for (size_t rank = 0; rank < ranks; ++rank) {
      const ModelWeights part = *RandomWeights(small.spec, 5, DType::kBF16, 1, {rank, ranks});
      size_t partitioned_rows = 0, bytes = 0;
      const ParameterList list = ParametersOf(part);
      for (const Parameter& parameter : list.parameters()) {
        const auto* const matrix = std::get_if<MatrixParameter>(&parameter.value);
        if (matrix == nullptr) continue;
        bytes += matrix->target->data.size();
        if (is_partitioned(*matrix->target)) {
          partitioned_rows += matrix->target->rows;
          repeated += rank == 0 ? RowsRepeated(*matrix, ranks) : 0;
        } else if (rank == 0) {
          kept += matrix->target->rows;
        }
      }
      all += partitioned_rows;
      most_bytes = std::max(most_bytes, bytes);
    }
    const ParameterList list = ParametersOf(whole);
    whole_rows = whole_small = 0;
    for (const Parameter& parameter : list.parameters()) {
      const auto* const matrix = std::get_if<MatrixParameter>(&parameter.value);
      if (matrix == nullptr) continue;
      whole_rows += matrix->rows();
      if (matrix->dtype) whole_small += matrix->rows();
    }
    CHECK(kept == whole_small);
    CHECK(all + kept == whole_rows + repeated);
    CHECK(most_bytes < MemoryBytes(whole));
  }
}

SKALD_LAW("kv heads are partitioned, shared or on all ranks; groups of state are the same on all ranks", small) {
  const CacheLayout whole = LayoutOf(small.spec);
  for (const size_t ranks : {2u, 3u, 4u}) {
    std::vector<uint32_t> heads(whole.groups().size());
    for (size_t rank = 0; rank < ranks; ++rank) {
      const CacheLayout part = LayoutOf(small.spec, {rank, ranks});
      REQUIRE(part.groups().size() == whole.groups().size());
      CHECK(part.model() == whole.model());
      CHECK(part.Fingerprint() != whole.Fingerprint());
      CHECK(std::ranges::equal(part.layers(), whole.layers()));
      for (size_t g = 0; g < heads.size(); ++g) {
        heads[g] += part.groups()[g].kv_heads;
        CHECK(part.groups()[g].is_replayed() == whole.groups()[g].is_replayed());
        CHECK(part.groups()[g].is_inputs() == whole.groups()[g].is_inputs());
      }
    }
    for (size_t g = 0; g < heads.size(); ++g) {
      const uint32_t all = whole.groups()[g].kv_heads;
      const bool are_shared = all > 1 && all < ranks && heads[g] == ranks;
      CHECK((heads[g] == all || heads[g] == all * ranks || are_shared));
    }
  }
}

// Bytes that differ from one another.
std::vector<std::byte> SomeBytes(size_t size, uint32_t seed) {
  std::vector<std::byte> bytes(size);
  std::mt19937 random(seed);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

void CheckBlocksOfState(const SmallModel& small) {
  const RuntimeConfig runtime = {.block_tokens = 32};
  for (const size_t ranks : {2u, 3u, 4u}) {
    const internal::PartitionedState state(small.spec, ranks, runtime);
    for (uint32_t g = 0; g < state.whole().groups().size(); ++g) {
      const std::vector<std::byte> whole = SomeBytes(state.whole_bytes(g), g);
      std::vector<std::byte> joined(whole.size());
      size_t all = 0;
      for (size_t rank = 0; rank < ranks; ++rank) {
        std::vector<std::byte> part(state.part_bytes(g, rank));
        state.Cut(g, rank, whole.data(), part.data());
        state.Join(g, rank, part.data(), joined.data());
        all += part.size();
      }
      CHECK((joined == whole));
      CHECK(all >= whole.size());
      CHECK(state.is_partitioned(g) == (all < ranks * whole.size()));
    }
  }
}

SKALD_LAW("blocks of state are put together again from what ranks have of them", small) { CheckBlocksOfState(small); }

TEST_CASE("so are those of delta nets whose value heads are apart") { CheckBlocksOfState(TiledDeltaNets()); }

TEST_CASE("two ranks have about half of the state of recurrent layers each") {
  // Of small models with heads or blocks that may be odd in number: what the first of two ranks has at most.
  const std::map<std::string, double> shares = {
      {"hybrid", 0.6},      {"small-mamba2", 0.5},       {"hybrid-mixture", 0.65},
      {"delta-nets", 0.5},  {"short-convolutions", 0.5}, {"time-mixes", 0.75},
      {"side-by-side", 0.5}};
  for (const auto& model : shares) {
    CAPTURE(model.first);
    const internal::PartitionedState state(SmallModelNamed(model.first).spec, 2, {.block_tokens = 32});
    double part = 0.0, whole = 0.0;
    for (uint32_t g = 0; g < state.whole().groups().size(); ++g) {
      if (state.whole().groups()[g].is_attention()) continue;
      part += static_cast<double>(state.part_bytes(g, 0));
      whole += static_cast<double>(state.whole_bytes(g));
    }
    CHECK(part <= model.second * whole);
  }
}

// Says that ranks have parts of it, and not which parts of its state.
struct PartlyPartitioned : FadingMemory {
  PartlyPartitioned OfRank(const RankShare& share) const {
    PartlyPartitioned part = *this;
    part.width = static_cast<int>(Partition(static_cast<size_t>(width), share).size());
    return part;
  }
};

TEST_CASE("layers that are partitioned as others of the model are not, or not with their states, are refused") {
  const auto check = [](const ModelSpec& spec, const RankShare& share, std::string_view expected) {
    const char* const why = WhyNotForRanks(spec, share);
    CHECK(std::string_view(why == nullptr ? "" : why) == expected);
  };
  ModelSpec spec = SmallModelNamed("time-mixes").spec;
  check(spec, {0, 2}, "");
  RwkvTimeMix wide = *spec.blocks[2].layers[0].As<RwkvTimeMix>();
  wide.heads = 2, wide.head_dim = 27;
  spec.blocks[2].layers[0] = wide;
  check(spec, {0, 1}, "");
  check(spec, {0, 2}, "Layers that give and read rows are partitioned to ranks in different ways.");
  spec = SmallModelNamed("own-types").spec;
  check(spec, {0, 2}, "");
  spec.blocks[2].layers[0] = PartlyPartitioned{{.width = 50}};
  check(spec, {0, 2}, "Layers that keep or read the same state are partitioned to ranks in different ways.");
}

TEST_CASE("a share that cannot be is refused") {
  LoadOptions options;
  options.share = {2, 2};
  CheckError(LoadWeights("nowhere", SmallModels()[0].spec, "a model", options), ErrorCode::kInvalidArgument,
             "LoadOptions::share");
}

}  // namespace parts_test
}  // namespace skald::testing
