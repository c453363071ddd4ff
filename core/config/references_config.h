#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <medley/config/field.h>

namespace medley {

// The weights as training found them: every run has them where a pass asks for it, under this name.
inline constexpr std::string_view kStartReference = "start";

// Further weights of a run, which passes ask by name.
struct ReferenceConfig {
  std::string of;                  // "average" or "run"
  double decay = 0.996;            // of an average: decay old + (1 - decay) new
  std::optional<double> to{};      // what decay goes to by the run's last step; nothing: it stays
  std::int64_t every = 1;          // steps between two of its updates
  std::filesystem::path run{};     // whose weights, "" for an average
  std::string weights = "newest";  // or "best"

  friend bool operator==(const ReferenceConfig&, const ReferenceConfig&) = default;
};
using ReferencesConfig = std::map<std::string, ReferenceConfig>;

template <typename Visitor>
void Fields(Visitor& visit, ReferenceConfig& c) {
  visit(c.of, {.name = "of",
               .help = "average: a moving average of this run's weights; run: another run's weights, of the "
                       "same model",
               .required = true,
               .allowed = {"average", "run"}});
  visit(c.decay, {.name = "decay",
                  .help = "Of an average: after each step it is decay times itself and 1 - decay times the "
                          "weights; 0: a copy of them",
                  .omit_default = true,
                  .low = 0,
                  .high = 1});
  visit(c.to, {.name = "to",
               .help = "Of an average: what decay goes to by the run's last step, by half a cosine. Not "
                       "given: it stays",
               .omit_default = true,
               .low = 0,
               .high = 1});
  visit(c.every, {.name = "every",
                  .help = "Of an average: steps between two of its updates",
                  .omit_default = true,
                  .low = 1,
                  .high = 1 << 30});
  visit(c.run, {.name = "run",
                .help = "Of run: its directory, or that of one of its checkpoints",
                .omit_default = true,
                .path = PathKind::kLater});
  visit(c.weights,
        {.name = "weights",
         .help = "Of run: those of its newest checkpoint, or of its best one; their average, where "
                 "it keeps one",
         .omit_default = true,
         .allowed = {"newest", "best"}});
}

}  // namespace medley
