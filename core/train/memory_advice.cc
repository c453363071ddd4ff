#include <medley/train/memory_advice.h>

#include <vector>

#include <medley/base/bytes.h>

namespace medley {

std::string MemoryAdvice(const CrowdedDraw& draw) {
  const std::string key = "tasks." + draw.task + ".";
  const ExecutionPlan& plan = draw.plan;
  if (draw.rows > 1 && plan.micro_rows != 1) {
    return "Lower " + key + "micro_rows (now " +
           (plan.micro_rows > 0 ? std::to_string(plan.micro_rows) : "0: all rows of a draw at once") + ")";
  }
  std::string words = "Already one row at a time is too much: ";
  const Mode smallest = LegalModes(draw.variant).back();
  if (plan.mode != smallest)
    words += "set " + key + "mode to \"" + std::string(ModeName(smallest)) + "\" (now \"" +
             std::string(ModeName(plan.mode)) + "\"), ";
  if (plan.recompute_every != 1)
    words += "set " + key + "recompute_every to 1 (now " + std::to_string(plan.recompute_every) + "), ";
  if (draw.rows > 1) words += "lower " + key + "rows (now " + std::to_string(draw.rows) + "), which wait, ";
  words += "use fewer or smaller pictures, or raise the budget";
  return draw.budget > 0 ? words + " (now " + FormatBytes(draw.budget) + ")" : words;
}

}  // namespace medley
