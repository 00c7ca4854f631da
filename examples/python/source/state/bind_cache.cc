// SPDX-License-Identifier: Apache-2.0

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "bind.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/create.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/model/any_model.h"
#include "skald/weights/adapters/adapter.h"
#include "state/objects.h"
#include "values/arrays.h"
#include "values/errors.h"

// A vector of what cannot be copied looks as if it could be.
template <>
struct nanobind::detail::is_copy_constructible<skald::Adapter> : std::false_type {};

namespace skald::python {

namespace {

Sha256Digest DigestOf(const Adapter* adapter) { return adapter == nullptr ? Sha256Digest{} : adapter->digest; }

void BindRuntime(nb::module_& m) {
  nb::enum_<DType>(m, "DType", Doc("DType"))
      .value("F32", DType::kF32)
      .value("F16", DType::kF16)
      .value("BF16", DType::kBF16)
      .value("Q8_0", DType::kQ8_0)
      .value("Q4_0", DType::kQ4_0)
      .value("Q4_K", DType::kQ4_K)
      .value("Q5_K", DType::kQ5_K)
      .value("Q6_K", DType::kQ6_K)
      .value("I8", DType::kI8);
  static const RuntimeConfig defaults;
  nb::class_<RuntimeConfig>(m, "RuntimeConfig", "The caller's choices for caches.")
      .def(
          "__init__",
          [](RuntimeConfig* self, uint32_t max_tokens, uint64_t cache_bytes, DType kv_type, uint32_t block_tokens,
             uint32_t resume_point_every, uint32_t max_resume_points, uint32_t rewind_tokens) {
            new (self) RuntimeConfig{max_tokens,         cache_bytes,       kv_type,      block_tokens,
                                     resume_point_every, max_resume_points, rewind_tokens};
          },
          nb::kw_only(), "max_tokens"_a = defaults.max_tokens, "cache_bytes"_a = defaults.cache_bytes,
          "kv_type"_a = defaults.kv_type, "block_tokens"_a = defaults.block_tokens,
          "resume_point_every"_a = defaults.resume_point_every, "max_resume_points"_a = defaults.max_resume_points,
          "rewind_tokens"_a = defaults.rewind_tokens)
      .def_rw("max_tokens", &RuntimeConfig::max_tokens, Doc("RuntimeConfig::max_tokens"))
      .def_rw("cache_bytes", &RuntimeConfig::cache_bytes, Doc("RuntimeConfig::cache_bytes"))
      .def_rw("kv_type", &RuntimeConfig::kv_type, Doc("RuntimeConfig::kv_type"))
      .def_rw("block_tokens", &RuntimeConfig::block_tokens, Doc("RuntimeConfig::block_tokens"))
      .def_rw("resume_point_every", &RuntimeConfig::resume_point_every, Doc("RuntimeConfig::resume_point_every"))
      .def_rw("max_resume_points", &RuntimeConfig::max_resume_points, Doc("RuntimeConfig::max_resume_points"))
      .def_rw("rewind_tokens", &RuntimeConfig::rewind_tokens, Doc("RuntimeConfig::rewind_tokens"));
}

void BindPool(nb::module_& m) {
  nb::class_<PoolUsage>(m, "PoolUsage", Doc("PoolUsage"))
      .def_ro("limit_bytes", &PoolUsage::limit_bytes, Doc("PoolUsage::limit_bytes"))
      .def_ro("used_bytes", &PoolUsage::used_bytes, Doc("PoolUsage::used_bytes"))
      .def_ro("available_bytes", &PoolUsage::available_bytes, Doc("PoolUsage::available_bytes"));
  nb::class_<BlockPool>(m, "BlockPool", Doc("CreateBlockPool"))
      .def(nb::new_([](const AnyModel& model, const RuntimeConfig& runtime) {
             return Take(CreateBlockPool(model.layout(), runtime));
           }),
           "model"_a, "runtime"_a = RuntimeConfig())
      .def_prop_ro("usage", &BlockPool::usage, Doc("BlockPool::usage"))
      .def_prop_ro("runtime", &BlockPool::runtime, nb::rv_policy::copy, Doc("BlockPool::runtime"));
}

}  // namespace

void BindCache(nb::module_& m) {
  BindRuntime(m);
  nb::class_<AnyModel> model(m, "Model", "A model of any description: the weights, and `forward`. Immutable.");
  nb::class_<Adapter> adapter(m, "Adapter", Doc("Adapter"));
  BindPool(m);
  nb::class_<CacheUsage>(m, "CacheUsage", Doc("CacheUsage"))
      .def_ro("exclusive_bytes", &CacheUsage::exclusive_bytes, Doc("CacheUsage::exclusive_bytes"))
      .def_ro("shared_bytes", &CacheUsage::shared_bytes, Doc("CacheUsage::shared_bytes"));
  nb::class_<Cache>(m, "KVCache", "The whole state of one conversation. Used by one thread at a time.")
      .def(nb::new_([](std::shared_ptr<BlockPool> pool, const Adapter* own) {
             return std::make_shared<Cache>(Take(CreateKVCache(std::move(pool), DigestOf(own))));
           }),
           "pool"_a, "adapter"_a = nb::none(), Doc("CreateKVCache"))
      .def(nb::new_([](const AnyModel& of, const RuntimeConfig& runtime, const Adapter* own) {
             return std::make_shared<Cache>(Take(CreateKVCache(of.layout(), runtime, DigestOf(own))));
           }),
           "model"_a, "runtime"_a = RuntimeConfig(), "adapter"_a = nb::none(), Doc("CreateKVCache"))
      .def("__len__", [](Cache& self) { return self.Use(), self.value.size(); })
      .def_prop_ro(
          "size", [](Cache& self) { return self.Use(), self.value.size(); }, Doc("KVCache::size"))
      .def_prop_ro(
          "max_tokens", [](Cache& self) { return self.Use(), self.value.max_tokens(); }, Doc("KVCache::max_tokens"))
      .def_prop_ro(
          "tokens",
          [](Cache& self) {
            const OneUser use = self.Use();
            return ArrayOf(std::vector<int32_t>(self.value.tokens().begin(), self.value.tokens().end()));
          },
          "A copy of the token ids.")
      .def_prop_ro(
          "exact_tokens", [](Cache& self) { return self.Use(), self.value.exact_tokens(); },
          Doc("KVCache::exact_tokens"))
      .def_prop_ro(
          "pool", [](Cache& self) { return self.Use(), self.value.pool(); }, Doc("KVCache::pool"))
      .def_prop_ro(
          "usage", [](Cache& self) { return self.Use(), self.value.usage(); }, Doc("KVCache::usage"))
      .def(
          "fork",
          [](Cache& self) {
            const OneUser use = self.Use();
            return std::make_shared<Cache>(Take(self.value.Fork()));
          },
          Doc("KVCache::Fork"))
      .def(
          "clear", [](Cache& self) { self.Use(), self.value.Clear(); }, Doc("KVCache::Clear"))
      .def(
          "truncate", [](Cache& self, uint32_t tokens) { self.Use(), Take(self.value.Truncate(tokens)); }, "tokens"_a,
          Doc("KVCache::Truncate"))
      .def(
          "erase", [](Cache& self, uint32_t begin, uint32_t end) { self.Use(), Take(self.value.Erase(begin, end)); },
          "begin"_a, "end"_a, Doc("KVCache::Erase"))
      .def(
          "shift",
          [](Cache& self, uint32_t begin, uint32_t end, uint32_t to) {
            self.Use(), Take(self.value.Shift(begin, end, to));
          },
          "begin"_a, "end"_a, "to"_a, Doc("KVCache::Shift"))
      .def(
          "resume_points",
          [](Cache& self) {
            const OneUser use = self.Use();
            std::vector<std::pair<uint32_t, uint32_t>> ranges;
            for (const ResumeRange& range : Take(self.value.ResumePoints()))
              ranges.emplace_back(range.first, range.last);
            return ranges;
          },
          Doc("KVCache::ResumePoints"))
      .def(
          "nearest_resume_point",
          [](Cache& self, uint32_t position) { return self.Use(), self.value.NearestResumePoint(position); },
          "position"_a, Doc("KVCache::NearestResumePoint"))
      .def(
          "drop_resume_points", [](Cache& self) { self.Use(), self.value.DropResumePoints(); },
          Doc("KVCache::DropResumePoints"));
}

}  // namespace skald::python
