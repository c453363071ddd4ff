#include <medley/plan/receipt.h>

#include <algorithm>

#include <medley/base/bytes.h>
#include <medley/report/table.h>

namespace medley {
namespace {

std::string ErrorOf(const PlanEpoch& epoch, std::int64_t measured) {
  if (epoch.predicted == 0 || epoch.draws == 0) return "-";
  return FormatShare(static_cast<double>(epoch.predicted - measured) /
                     static_cast<double>(std::max<std::int64_t>(1, measured)));
}

std::string Bytes(std::int64_t bytes) { return bytes > 0 ? FormatBytes(bytes) : "-"; }

std::string ModeAndRows(const PlanEpoch& epoch) {
  return epoch.mode + ", micro rows " + std::to_string(epoch.micro_rows);
}

Table EpochTable(const Receipt& receipt) {
  Table table({"task", "predicted", "measured, most", "median", "error", "at most", "micro rows", "mode",
               "under", "overflows", "draws", "rows", "tokens run", "forwards"});
  table.Spares(
      {"tokens run", "forwards", "median", "at most", "rows", "under", "overflows", "draws", "mode"});
  for (const auto& [form, epochs] : receipt.forms()) {
    for (const PlanEpoch& epoch : epochs) {
      table.Add({form.text(), Bytes(epoch.predicted), Bytes(epoch.largest), Bytes(epoch.median()),
                 ErrorOf(epoch, epoch.largest), ErrorOf(epoch, epoch.smallest),
                 std::to_string(epoch.micro_rows) + (epoch.cut ? " (cut)" : ""), epoch.mode,
                 std::to_string(epoch.under), std::to_string(epoch.overflows), std::to_string(epoch.draws),
                 std::to_string(epoch.rows), std::to_string(epoch.tokens_run),
                 std::to_string(epoch.forwards)});
    }
  }
  return table;
}

// Draws by grade.
struct Grades {
  std::int64_t draws = 0, under = 0, narrow = 0, covered = 0, loose = 0, without = 0;
};

Grades GradesOf(const Receipt& receipt, bool cut) {
  Grades grades;
  for (const auto& [form, epochs] : receipt.forms()) {
    for (const PlanEpoch& epoch : epochs) {
      if (epoch.cut != cut) continue;
      grades.draws += epoch.draws;
      grades.under += epoch.under_in_draws();
      grades.narrow += epoch.narrow;
      grades.covered += epoch.covered;
      grades.loose += epoch.loose;
      if (epoch.predicted == 0) grades.without += epoch.draws;
    }
  }
  return grades;
}

// Why draws are far below their prediction is known only where they ran as planned.
std::string GradeWords(const Receipt& receipt, bool cut) {
  const Grades grades = GradesOf(receipt, cut);
  if (cut && grades.draws == 0) return "";
  std::string text = std::to_string(grades.draws) + " draws";
  if (cut) text += " in smaller micro-batches, after an overflow";
  text += ": " + std::to_string(grades.under) + " above the prediction and its margin, " +
          std::to_string(grades.narrow) + " within the margin, " + std::to_string(grades.covered) +
          " at most a tenth below, " + std::to_string(grades.loose) + " further below";
  if (!cut) text += " (their rows were shorter than the longest)";
  if (grades.without > 0) text += ", " + std::to_string(grades.without) + " without a prediction";
  return text + "\n";
}

std::string UnderWords(const FormId& form, const PlanEpoch& epoch) {
  if (epoch.under_in_draws() == 0) return "";
  return "UNDER-ESTIMATED: task " + form.text() + " took " + FormatBytes(epoch.largest) + ", " +
         FormatBytes(epoch.largest - epoch.predicted - epoch.margin) + " more than was planned (" +
         ModeAndRows(epoch) + ")\n";
}

std::string OverflowWords(const FormId& form, const PlanEpoch& epoch) {
  if (epoch.overflows == 0) return "";
  std::string text = "OVERFLOWED: task " + form.text() + " ran out of memory " +
                     std::to_string(epoch.overflows) + (epoch.overflows == 1 ? " time" : " times") + " (" +
                     ModeAndRows(epoch) + "), with " + FormatBytes(epoch.reached) + " in use";
  text += epoch.predicted > 0 ? " and " + FormatBytes(epoch.predicted) + " predicted" : "";
  if (epoch.left > 0) text += "; it left " + FormatBytes(epoch.left) + " behind, which is a bug";
  return text + "\n";
}

}  // namespace

std::string ReceiptTable(const Receipt& receipt) {
  std::string text = EpochTable(receipt).ToText() + "\n" + GradeWords(receipt, false);
  text += GradeWords(receipt, true);
  if (receipt.overflows() > 0)
    text += std::to_string(receipt.overflows()) +
            " overflows: each is an under-estimate where there was a prediction\n";
  for (const auto& [form, epochs] : receipt.forms()) {
    for (const PlanEpoch& epoch : epochs) text += UnderWords(form, epoch) + OverflowWords(form, epoch);
  }
  return text;
}

}  // namespace medley
