#include <medley/train/memory_advice.h>

#include <vector>

#include <medley/base/bytes.h>

namespace medley {

std::string MemoryAdvice(const CrowdedDraw& draw) {
  const std::string key = "tasks." + draw.task + ".";
  const Execution& execution = draw.execution;
  if (draw.rows > 1 && execution.micro_rows != 1) {
    return "Lower " + key + "micro_rows (now " +
           (execution.micro_rows > 0 ? std::to_string(execution.micro_rows)
                                     : "0: all rows of a draw at once") +
           ")";
  }
  std::string words = "Already one row at a time is too much: ";
  const Mode smallest = SmallestMode(draw.variant);
  if (execution.way.mode != smallest)
    words += "set " + key + "mode to \"" + std::string(ModeName(smallest)) + "\" (now \"" +
             std::string(ModeName(execution.way.mode)) + "\"), ";
  if (execution.way.recompute_every != 1)
    words +=
        "set " + key + "recompute_every to 1 (now " + std::to_string(execution.way.recompute_every) + "), ";
  if (draw.rows > 1) words += "lower " + key + "rows (now " + std::to_string(draw.rows) + "), which wait, ";
  words += "use fewer or smaller pictures, or raise the budget";
  return draw.budget > 0 ? words + " (now " + FormatBytes(draw.budget) + ")" : words;
}

}  // namespace medley
