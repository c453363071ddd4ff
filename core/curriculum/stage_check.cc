#include <medley/curriculum/stage_check.h>

#include <algorithm>

#include <medley/base/suggest.h>
#include <medley/curriculum/shares.h>

namespace medley {
namespace {

using Path = std::vector<std::string>;

Path Below(Path path, std::initializer_list<std::string> keys) {
  path.insert(path.end(), keys);
  return path;
}

// Where a stage's set names a task first.
Path PathOfSet(const ConfigFile& file, const Path& set, const std::string& task) {
  if (const JsonNode* node = file.Find(set)) {
    for (const JsonMember& member : node->members) {
      if (member.key.starts_with("tasks." + task + ".")) return Below(set, {member.key});
    }
  }
  return set;
}

// The mistakes that one value alone does not show.
class CurriculumCheck {
 public:
  CurriculumCheck(ConfigFile& file, const Curriculum& curriculum, WeightsOf whose)
      : file_(file), curriculum_(curriculum), whose_(whose) {}

  void Check() {
    for (std::size_t i = 0; i < curriculum_.stages.size(); ++i) {
      CheckStageWeights(i);
      CheckStage(i);
    }
  }

 private:
  void CheckStageWeights(std::size_t stage) {
    const Path path = Below(curriculum_.PathOf(stage), {"weights"});
    const JsonNode* weights = file_.Find(path);
    if (weights == nullptr || !weights->IsObject()) return;
    for (const JsonMember& member : weights->members) {
      if (member.key == kComment) continue;
      const bool good = member.value.scalar.is_number() && member.value.scalar.get<double>() >= 0 &&
                        member.value.scalar.get<double>() <= kLargestWeight;
      if (!good) return;  // reported; the sum of the others says nothing
    }
    for (const WeightProblem& problem : CheckWeights(curriculum_.MixtureOf(stage)))
      file_.FailAt(problem.task.empty() ? path : Below(path, {problem.task}), problem.message);
  }

  void CheckStage(std::size_t number) {
    const Stage& stage = curriculum_.stages[number];
    const Path path = curriculum_.PathOf(number);
    for (std::size_t i = 0; i < number && !stage.name.empty(); ++i) {
      if (curriculum_.stages[i].name == stage.name)
        file_.FailAt(Below(path, {"name"}), "stage " + std::to_string(i + 1) + " is called \"" + stage.name +
                                                "\" too; give each a name of its own");
    }
    if (!stage.until && number + 1 < curriculum_.stages.size())
      file_.FailAt(Below(path, {"until"}),
                   "missing, and so the stages behind it would never begin; say when the stage ends, such as "
                   "{\"steps\": 1000}");
    if (!stage.until && stage.cooldown_steps > 0)
      file_.FailAt(Below(path, {"cooldown"}), "begins once \"until\" holds, and the stage has none");
    if (stage.ramp.draws > 0 && curriculum_.order == DrawOrder::kUrn)
      file_.FailAt(Below(path, {"ramp"}), kNoRampOfUrns);
    if (stage.until) CheckCondition(*stage.until, stage, Below(path, {"until"}));
    CheckSet(stage, Below(path, {"set"}));
    if (whose_ == WeightsOf::kUser) CheckEffects(stage, number, path);
  }

  // What is accepted acts.
  void CheckEffects(const Stage& stage, std::size_t number, const Path& path) {
    if (stage.cooldown_steps == 0 && stage.cooldown_to != Stage().cooldown_to)
      file_.FailAt(Below(path, {"cooldown_to"}), "says where a cooldown leads, and the stage has none");
    if (stage.eval_every > 0 && stage.Scored().empty())
      file_.FailAt(Below(path, {"eval_every"}),
                   "is of the evaluations that \"until\" asks for, and it waits for no score; leave it out");
    if (number == 0 && stage.moments == Moments::kReset)
      file_.FailAt(Below(path, {"moments"}), "a run begins without any; leave it out of the first stage");
  }

  void CheckCondition(const Condition& condition, const Stage& stage, const Path& path) {
    const std::span<const Condition> parts = PartsOf(condition);
    for (std::size_t i = 0; i < parts.size(); ++i)
      CheckCondition(parts[i], stage, Below(path, {std::string(KeyOf(condition)), std::to_string(i)}));
    if (!parts.empty()) return;
    for (const auto& [task, field, is_scored] : SubjectsOf(condition))
      RequireTask(task, is_scored ? curriculum_.Named() : stage.Active(), Below(path, {std::string(field)}),
                  is_scored ? "no stage draws this task" : "the stage does not draw this task");
  }

  void CheckSet(const Stage& stage, const Path& path) {
    for (const auto& [task, change] : stage.set.tasks)
      RequireTask(task, curriculum_.Named(), PathOfSet(file_, path, task), "no stage draws this task");
  }

  void RequireTask(const std::string& task, const std::vector<std::string>& tasks, const Path& path,
                   const std::string& problem) {
    if (task.empty() || std::ranges::find(tasks, task) != tasks.end()) return;
    file_.FailAt(path, problem + DidYouMean(task, tasks) + " (drawn: " + JoinNames(tasks) + ")");
  }

  ConfigFile& file_;
  const Curriculum& curriculum_;
  WeightsOf whose_;
};

}  // namespace

void CheckCurriculum(ConfigFile& file, const Curriculum& curriculum, WeightsOf whose) {
  CurriculumCheck(file, curriculum, whose).Check();
}

void CheckBeginning(ConfigFile& file, const Curriculum& curriculum) {
  if (curriculum.stages.front().ramp.draws > 0)
    file.FailAt(
        Below(curriculum.PathOf(0), {"ramp"}),
        "the first stage has none: there are no shares before it. One is for an edit while the run goes on");
}

}  // namespace medley
