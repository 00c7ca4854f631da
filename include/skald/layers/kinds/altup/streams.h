// SPDX-License-Identifier: Apache-2.0
//
// Alternating updates (Baykal et al. 2023, arXiv:2301.13310), as Gemma 3n has them: beside the residual stream, on
// which all other layers work, there are further streams of its width, which layers carry to each other. Before each
// layer all streams are predicted from each other, and after it they are corrected by what the layer changed. A layer
// here gives the difference of what is to be the residual stream to what it is.

#ifndef SKALD_LAYERS_KINDS_ALTUP_STREAMS_H_
#define SKALD_LAYERS_KINDS_ALTUP_STREAMS_H_

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "skald/base/numbers/activation.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/run/rows.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {

struct LayerRun;  // layers/run/layer_run.h

/// The most streams that layers work on.
inline constexpr size_t kMostAltUpStreams = 8;

namespace internal {

/// How many streams there are, the residual one included, and their width: what all layers here say.
struct AltUpSizes {
  int streams = 0, width = 0;

  constexpr const char* WhyImpossible() const {
    if (streams < 2) return "Alternating updates need a stream beside the residual one.";
    if (streams > static_cast<int>(kMostAltUpStreams)) return "Alternating updates have eight streams at most.";
    return width > 0 ? nullptr : "The width of the streams of alternating updates must be positive.";
  }
  /// Rows of all streams: that of the residual one is what was predicted of it.
  constexpr std::optional<CarriedRows> Carried(bool gives) const { return CarriedRows{streams * width, gives}; }
  constexpr size_t count() const { return static_cast<size_t>(streams); }
};

/// Tanh of a projection of each row's norm over the width, by which its streams are predicted and corrected.
struct AltUpRouter {
  struct Weights {
    RmsNorm::Weights norm;  ///< [width]
    Matrix router;          ///< [streams, width], always F32
  };

  /// Lists both; `norm` is that of the model.
  static void ListParameters(Weights& weights, const RmsNorm& norm, const AltUpSizes& sizes, ParameterList& list);
  /// modalities [rows, streams]; `normed` has room for [rows, width].
  static void Route(const Weights& weights, const RmsNorm& norm, const AltUpSizes& sizes, const LayerRun& run,
                    float* normed, float* modalities);
};

}  // namespace internal

/// Makes the other streams of the embeddings, by a matrix each, of the same length as these.
struct AltUpEntry {
  static constexpr std::string_view kName = "entry of alternating updates";

  int streams = 0;  ///< the residual one included
  int width = 0;    ///< of the residual stream

  friend constexpr bool operator==(const AltUpEntry&, const AltUpEntry&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("streams", self.streams);
    visit("width", self.width);
  }
  constexpr const char* WhyImpossible() const { return sizes().WhyImpossible(); }
  constexpr std::optional<CarriedRows> Carried() const { return sizes().Carried(/*gives=*/true); }
  constexpr int InputDim() const { return width; }

  struct Weights {
    std::vector<Matrix> projections;  ///< [streams - 1] of [width, width]
  };
  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const;

  template <class T>
  struct Pieces {};
  Pieces<size_t> ScratchFloats(size_t /*rows*/, size_t /*model_dim*/) const { return {}; }

  void Run(const Weights& weights, const LayerRun& run) const;

 private:
  constexpr internal::AltUpSizes sizes() const { return {streams, width}; }
};

/// Predicts all streams from each other.
struct AltUpPrediction {
  static constexpr std::string_view kName = "prediction of alternating updates";

  int streams = 0;    ///< the residual one included
  int width = 0;      ///< of the residual stream
  RmsNorm norm = {};  ///< of the rows that say how

  friend constexpr bool operator==(const AltUpPrediction&, const AltUpPrediction&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("streams", self.streams);
    visit("width", self.width);
    visit("norm", self.norm);
  }
  constexpr const char* WhyImpossible() const {
    if (const char* why = norm.WhyImpossible()) return why;
    return sizes().WhyImpossible();
  }
  constexpr std::optional<CarriedRows> Carried() const { return sizes().Carried(/*gives=*/true); }
  constexpr int InputDim() const { return width; }

  struct Weights {
    internal::AltUpRouter::Weights router;  ///< whose tanh weighs the coefficients
    Matrix coefficients;  ///< [streams * streams, streams], always F32: of each predicted stream those of all streams
  };
  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const;

  template <class T>
  struct Pieces {
    T normed;        ///< [rows, width]
    T modalities;    ///< [rows, streams]
    T coefficients;  ///< [rows, streams * streams]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t model_dim) const;

  void Run(const Weights& weights, const LayerRun& run) const;

 private:
  constexpr internal::AltUpSizes sizes() const { return {streams, width}; }
};

/// A learned augmented residual layer (LAuReL; Menghani et al. 2024, arXiv:2411.07501): adds what it makes of the
/// prediction to the residual stream, which attention has added to, and divides the sum by the root of 2.
struct LaurelResidual {
  static constexpr std::string_view kName = "learned augmented residual layer";

  int streams = 0;    ///< as those of the prediction
  int width = 0;      ///< likewise
  int rank = 0;       ///< of its two matrices
  RmsNorm norm = {};  ///< of the prediction, the same as attention's, and of what the matrices give

  friend constexpr bool operator==(const LaurelResidual&, const LaurelResidual&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("streams", self.streams);
    visit("width", self.width);
    visit("rank", self.rank);
    visit("norm", self.norm);
  }
  constexpr const char* WhyImpossible() const {
    if (rank <= 0) return "The rank of a learned augmented residual layer must be positive.";
    if (const char* why = norm.WhyImpossible()) return why;
    return sizes().WhyImpossible();
  }
  constexpr std::optional<CarriedRows> Carried() const { return sizes().Carried(/*gives=*/false); }
  constexpr int InputDim() const { return width; }

  struct Weights {
    RmsNorm::Weights norm, post_norm;  ///< [width]
    Matrix left, right;                ///< [rank, width], [width, rank]
  };
  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const;

  template <class T>
  struct Pieces {
    T normed;   ///< [rows, width]
    T between;  ///< [rows, rank]
    T learned;  ///< [rows, width]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t model_dim) const;

  void Run(const Weights& weights, const LayerRun& run) const;

 private:
  constexpr internal::AltUpSizes sizes() const { return {streams, width}; }
};

/// Corrects all streams by what the residual one differs from its prediction by, and adds to the others what a gate
/// makes of the residual one and of the per-layer input.
struct AltUpCorrection {
  static constexpr std::string_view kName = "correction of alternating updates";

  int streams = 0;                                ///< the residual one included
  int width = 0;                                  ///< of the residual stream
  int per_layer_dim = 0;                          ///< ModelSpec::per_layer_dim
  Activation activation = Activation::kGeluTanh;  ///< of the gate
  bool scaled = true;                             ///< what the gate reads is multiplied by a learned scale
  RmsNorm norm = {};                              ///< of the rows that say how, and of what is added to the others

  friend constexpr bool operator==(const AltUpCorrection&, const AltUpCorrection&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("streams", self.streams);
    visit("width", self.width);
    visit("per_layer_dim", self.per_layer_dim);
    visit("activation", self.activation);
    visit("scaled", self.scaled);
    visit("norm", self.norm);
  }
  constexpr const char* WhyImpossible() const {
    if (per_layer_dim <= 0) return "A per-layer input must have a positive width.";
    if (activation == Activation::kClampedSwiglu) return "A per-layer input has no gate to clamp.";
    if (const char* why = norm.WhyImpossible()) return why;
    return sizes().WhyImpossible();
  }
  constexpr std::optional<CarriedRows> Carried() const { return sizes().Carried(/*gives=*/true); }
  constexpr int InputDim() const { return width; }
  constexpr int PerLayerDim() const { return per_layer_dim; }

  struct Weights {
    internal::AltUpRouter::Weights router;  ///< whose tanh weighs the coefficients
    Matrix coefficients;                    ///< [streams, streams], always F32
    std::vector<float> scale;               ///< [width], or empty
    Matrix gate;                            ///< [per_layer_dim, width]
    Matrix projection;                      ///< [width, per_layer_dim]
    RmsNorm::Weights post_norm;             ///< [width]
  };
  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const;

  template <class T>
  struct Pieces {
    T normed;        ///< [rows, width]
    T modalities;    ///< [rows, streams]
    T coefficients;  ///< [rows, streams]
    T gated;         ///< [rows, per_layer_dim]
    T added;         ///< [rows, width]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t model_dim) const;

  void Run(const Weights& weights, const LayerRun& run) const;

 private:
  constexpr internal::AltUpSizes sizes() const { return {streams, width}; }
};

/// Makes one stream of all: the mean of the residual one and of the others, by a matrix each, of its length.
struct AltUpExit {
  static constexpr std::string_view kName = "exit of alternating updates";

  int streams = 0;  ///< the residual one included
  int width = 0;    ///< of the residual stream

  friend constexpr bool operator==(const AltUpExit&, const AltUpExit&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("streams", self.streams);
    visit("width", self.width);
  }
  constexpr const char* WhyImpossible() const { return sizes().WhyImpossible(); }
  constexpr std::optional<CarriedRows> Carried() const { return sizes().Carried(/*gives=*/false); }
  constexpr int InputDim() const { return width; }

  struct Weights {
    std::vector<Matrix> projections;  ///< [streams - 1] of [width, width]
  };
  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const;

  template <class T>
  struct Pieces {
    T projected;  ///< a stream by its matrix, [rows, width]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t model_dim) const { return {.projected = rows * model_dim}; }

  void Run(const Weights& weights, const LayerRun& run) const;

 private:
  constexpr internal::AltUpSizes sizes() const { return {streams, width}; }
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/altup/detail/streams.h"
#endif

#endif  // SKALD_LAYERS_KINDS_ALTUP_STREAMS_H_
