// SPDX-License-Identifier: Apache-2.0

#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "bind.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/cache/cached_layer.h"
#include "state/objects.h"
#include "values/arrays.h"
#include "values/errors.h"

namespace skald::python {

namespace {

// [kv_heads, tokens, floats of a head], of functions that return one head.
template <class Read>
Array<float> AllHeads(const CachedLayer& state, Read read) {
  std::vector<float> all;
  const size_t heads = state.geometry().kv_heads, tokens = state.tokens();
  for (size_t head = 0; head < std::max<size_t>(heads, 1); ++head) {
    const std::vector<float> one = Take(read(head));
    all.insert(all.end(), one.begin(), one.end());
  }
  auto kept = std::make_shared<std::vector<float>>(std::move(all));
  const size_t dim = tokens == 0 ? state.geometry().head_dim : kept->size() / heads / tokens;
  return ArrayOf(kept->data(), {heads, tokens, dim}, kept, true);
}

// A packed [rows, cols] matrix of each kv head where it lies, without padding: [kv_heads, panels, 16, cols], and of
// bfloat16 [kv_heads, panels, 16, cols / 2, 2], since two neighbouring columns are stored together.
nb::object PackedHeads(const std::shared_ptr<CachedLayer>& state, const std::byte* data, size_t rows, size_t cols) {
  const DType type = state->type();
  const size_t pair = type == DType::kBF16 ? 2 : 1, padded = RoundUp(cols, kTile);
  std::vector<size_t> shape = {state->geometry().kv_heads, RoundUp(rows, kLanes) / kLanes, kLanes, cols / pair};
  std::vector<int64_t> strides = {static_cast<int64_t>(PackedSize(rows, cols)), static_cast<int64_t>(kLanes * padded),
                                  static_cast<int64_t>(pair), static_cast<int64_t>(kLanes * pair)};
  if (pair > 1) {
    shape.push_back(pair);
    strides.push_back(1);
  }
  const auto show = [&]<class T>(const T* numbers, nb::dlpack::dtype dtype) {
    return nb::cast(nb::ndarray<nb::array_api, nb::ro>(numbers, shape.size(), shape.data(), CapsuleOf(state),
                                                       strides.data(), dtype));
  };
  if (type == DType::kF32) return show(reinterpret_cast<const float*>(data), nb::dtype<float>());
  if (type == DType::kI8) return show(reinterpret_cast<const int8_t*>(data), nb::dtype<int8_t>());
  return show(reinterpret_cast<const uint16_t*>(data), {static_cast<uint8_t>(nb::dlpack::dtype_code::Bfloat), 16, 1});
}

}  // namespace

void BindState(nb::module_& m) {
  nb::class_<CachedLayer>(m, "CachedLayer", Doc("CachedLayer"))
      .def_prop_ro(
          "is_recurrent", [](const CachedLayer& self) { return self.group().is_recurrent(); },
          Doc("CacheGroup::is_recurrent"))
      .def_prop_ro("type", &CachedLayer::type, Doc("CachedLayer::type"))
      .def_prop_ro("first_token", &CachedLayer::first_token, Doc("CachedLayer::first_token"))
      .def_prop_ro("tokens", &CachedLayer::tokens, Doc("CachedLayer::tokens"))
      .def_prop_ro(
          "state",
          [](const std::shared_ptr<CachedLayer>& self) {
            const auto state = self->state();
            return ArrayOf(const_cast<float*>(state.data()), {state.size()}, self);
          },
          Doc("CachedLayer::state"))
      .def(
          "keys", [](const CachedLayer& self) { return AllHeads(self, [&](size_t head) { return self.Keys(head); }); },
          "A copy of all keys as floats, [kv_heads, tokens, head_dim], rotated to their positions.")
      .def(
          "values",
          [](const CachedLayer& self) { return AllHeads(self, [&](size_t head) { return self.Values(head); }); },
          "A copy of all values as floats, [kv_heads, tokens, head_dim].")
      .def(
          "key_blocks",
          [](const std::shared_ptr<CachedLayer>& self) {
            std::vector<nb::object> blocks;
            if (!self->group().is_attention()) Take(self->Keys(0));
            const BlockGeometry& g = self->geometry();
            for (const CachedLayer::Block& block : self->blocks()) {
              blocks.push_back(PackedHeads(self, block.bytes, g.block_tokens, g.head_dim));
            }
            return blocks;
          },
          "Keys where they lie, an object for each block that torch.from_dlpack, and numpy.from_dlpack of F32, read "
          "without a copy: [kv_heads, tokens / 16, 16, head_dim]; of BF16 [..., head_dim / 2, 2].")
      .def(
          "value_blocks",
          [](const std::shared_ptr<CachedLayer>& self) {
            std::vector<nb::object> blocks;
            if (!self->group().is_attention()) Take(self->Values(0));
            const BlockGeometry& g = self->geometry();
            if (g.latent_dim != 0) {
              Raise(ErrorCode::kUnsupported, "value_blocks: the layer's values are elements of its keys");
            }
            for (const CachedLayer::Block& block : self->blocks()) {
              blocks.push_back(PackedHeads(self, block.bytes + g.ValueOffset(0), g.head_dim, g.block_tokens));
            }
            return blocks;
          },
          "Values where they lie, as key_blocks: [kv_heads, head_dim / 16, 16, tokens]; of BF16 [..., tokens / 2, 2].");
  nb::borrow<nb::class_<Cache>>(m.attr("KVCache"))
      .def_prop_ro(
          "num_state_layers",
          [](Cache& self) {
            const OneUser use = self.Use();
            return self.value.pool()->layout().layers().size();
          },
          Doc("CacheLayout::layers"))
      .def(
          "layer_state",
          [](Cache& self, size_t layer) {
            const OneUser use = self.Use();
            return std::make_shared<CachedLayer>(Take(CachedLayer::Of(self.value, layer)));
          },
          "layer"_a, Doc("CachedLayer::Of"));
}

}  // namespace skald::python
