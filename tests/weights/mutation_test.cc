// SPDX-License-Identifier: Apache-2.0
//
// A small checkpoint is damaged in every possible place. With any damage, loading it gives an error or the very same
// weights, and touches no memory that it should not (run with sanitizers).

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/model/load.h"
#include "skald/weights/random_weights.h"
#include "tests/support/safetensors_writer.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald {
namespace mutation_test {

struct OneLayer : testing::TinyTied {
  static constexpr auto kLayers = RepeatLayers<1>({LayerKind::kFullAttention});
};

class Mutations {
 public:
  Mutations() : original_(Load(image())) {}

  const std::string& image() const { return image_; }

  // Bytes of the length and of the JSON, that is, everything but the data.
  size_t HeaderEnd() const {
    uint64_t length;
    std::memcpy(&length, image_.data(), sizeof(length));
    return sizeof(length) + static_cast<size_t>(length);
  }

  // True when the damaged image is refused with a sentence, or is read as if it were whole.
  bool IsHarmless(const std::string& damaged) {
    const Result<ModelWeights> weights = Load(damaged);
    if (weights) {
      ++accepted;
      return testing::SameWeights(*weights, *original_);
    }
    ++refused;
    return weights.error().message.size() > folder_.path().string().size();
  }

  bool HasOriginal() const { return original_.has_value(); }

  size_t accepted = 0, refused = 0;

 private:
  Result<ModelWeights> Load(const std::string& image) {
    const auto path = folder_.path() / "model.safetensors";
    std::filesystem::remove(path);  // file systems are slow, on purpose, when a file is truncated and rewritten
    testing::WriteFile(path, image);
    return LoadWeights<OneLayer>(path);
  }

  testing::TemporaryFolder folder_;
  std::string image_ = testing::SafetensorsImage(testing::TinyTensors<OneLayer>());
  Result<ModelWeights> original_;
};

TEST_CASE("Changing any byte of the header gives an error or the same weights") {
  Mutations mutations;
  REQUIRE(mutations.HasOriginal());
  std::string damaged = mutations.image();
  for (size_t i = 0; i < mutations.HeaderEnd(); ++i) {
    const char whole = damaged[i];
    for (const unsigned flip : {1u, 2u, 4u, 8u, 16u, 32u, 64u, 128u, 255u}) {
      damaged[i] = static_cast<char>(static_cast<unsigned char>(whole) ^ flip);
      CAPTURE(i);
      CAPTURE(flip);
      REQUIRE(mutations.IsHarmless(damaged));
    }
    damaged[i] = whole;
  }
  CHECK(mutations.refused > mutations.accepted);
  CHECK(mutations.accepted > 0);  // changes in __metadata__
}

TEST_CASE("Cutting the file at any length gives an error") {
  Mutations mutations;
  for (size_t length = 0; length < mutations.image().size(); ++length) {
    CAPTURE(length);
    REQUIRE(mutations.IsHarmless(mutations.image().substr(0, length)));
  }
  CHECK(mutations.accepted == 0);
}

TEST_CASE("Removing, doubling or exchanging pieces of the header gives an error or the same weights") {
  Mutations mutations;
  const size_t begin = sizeof(uint64_t), size = mutations.HeaderEnd() - begin;
  for (uint64_t round = 0; round < 3000; ++round) {
    const auto draw = [&](uint64_t index, size_t limit) {
      return static_cast<size_t>((internal::UniformAt(round, index) + 1.0f) / 2.0f * static_cast<float>(limit));
    };
    std::string header = mutations.image().substr(begin, size);
    const size_t from = draw(0, size), length = draw(1, 40), to = draw(2, size);
    const std::string piece = header.substr(from, length);
    switch (round % 3) {
      case 0:
        header.erase(from, length);
        break;
      case 1:
        header.insert(to, piece);
        break;
      case 2:
        header.replace(to, piece.size(), piece);
        break;
    }
    CAPTURE(round);
    REQUIRE(mutations.IsHarmless(
        testing::SafetensorsImage(header, std::string_view(mutations.image()).substr(mutations.HeaderEnd()))));
  }
  CHECK(mutations.refused > mutations.accepted);
}

TEST_CASE("Bytes after the last tensor give an error") {
  Mutations mutations;
  CHECK(mutations.IsHarmless(mutations.image() + "x"));
  CHECK(mutations.accepted == 0);
}

}  // namespace mutation_test
}  // namespace skald
