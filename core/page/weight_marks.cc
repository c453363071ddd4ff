#include <medley/page/weight_marks.h>

#include <algorithm>
#include <cstddef>

#include <medley/base/error.h>
#include <medley/curriculum/weight_log.h>
#include <medley/report/log_lines.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

Ramp RampInto(const std::optional<Curriculum>& curriculum, const std::string& stage) {
  if (!curriculum) return {};
  const auto found = std::ranges::find(curriculum->stages, stage, &Stage::name);
  return found == curriculum->stages.end() ? Ramp{} : found->ramp;
}

class WeightMarks {
 public:
  // Keeps the references. `marks`: gets them.
  WeightMarks(const std::optional<Curriculum>& curriculum, std::vector<ordered_json>& marks)
      : curriculum_(curriculum), marks_(marks) {}

  void Take(const json& line) {
    const json& cause = At(line, "cause");
    if (!cause.is_string()) return;
    const double draw = NumberAt(line, "draw");
    if (cause == "start" || cause == "stage") stage_ = line.value("name", ""), stage_draw_ = draw;
    if (cause == "ramp" && led_) PutRamp(line["step"], draw - draw_);
    if (cause == "stage" || cause == "edit") led_ = marks_.size(), from_ = At(line, "before"), draw_ = draw;
    marks_.push_back({{"step", line["step"]},
                      {"kind", cause},
                      {"words", (line.value("name", "") + " " + line.value("words", ""))}});
    if (cause == "decay refit") return;  // of which there may be many, and no share changes
    marks_.back()["shares"] = At(line, "after");
  }
  // A ramp may go on after so many steps and draws: then it ends where it will at their pace.
  void End(std::int64_t step, double draws) {
    if (!led_ || marks_[*led_].contains("ramp")) return;
    const double left = stage_draw_ + static_cast<double>(RampInto(curriculum_, stage_).draws) - draw_;
    const auto begun = marks_[*led_]["step"].get<double>();
    if (left > 0 && draws > draw_)
      PutRamp(begun + left * (static_cast<double>(step) - begun) / (draws - draw_), left);
  }
  const std::string& stage() const { return stage_; }  // that began last

 private:
  void PutRamp(const ordered_json& until, double draws) {
    marks_[*led_]["ramp"] = {{"from", from_}, {"until", until}, {"draws", draws}};
    if (RampInto(curriculum_, stage_).shape == RampShape::kCosine) marks_[*led_]["ramp"]["shape"] = "cosine";
  }

  const std::optional<Curriculum>& curriculum_;
  std::vector<ordered_json>& marks_;
  std::string stage_;
  std::optional<std::size_t> led_;  // the mark whose shares a ramp may lead to
  json from_;
  double stage_draw_ = 0, draw_ = 0;  // draws before the stage, and before that mark
};

}  // namespace

std::optional<Curriculum> CurriculumOf(const fs::path& run) {
  try {
    const std::optional<std::string> text = WeightLog(run).Text();
    return text ? std::optional(ParseCurriculum(run / kWeightLog, *text)) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string AddWeightMarks(const fs::path& run, const std::optional<Curriculum>& curriculum,
                           std::int64_t step, double draws, std::vector<ordered_json>& marks) {
  WeightMarks changes(curriculum, marks);
  ForEachLine(run / kWeightLog, DamagedLine::kRefused, [&](const json& line) { changes.Take(line); });
  changes.End(step, draws);
  return changes.stage();
}

}  // namespace medley
