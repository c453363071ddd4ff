#include "tools/medley/sweep_request.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/file_digest.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/config/config_file.h>
#include <medley/config/field.h>
#include <medley/config/mistakes.h>
#include <medley/config/threads.h>
#include <medley/run/data_files.h>
#include <medley/run/odd_settings.h>
#include <medley/run/published_files.h>
#include <medley/run/validate.h>
#include <medley/runs/job_share.h>
#include <medley/train/event_command.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostRuns = 10'000;

// Each mistake once, whichever combinations have it.
class AllMistakes {
 public:
  void Add(const InputError& error) {
    const auto* listed = dynamic_cast<const Mistakes*>(&error);
    if (listed == nullptr) return AddOne({"", {}, error.what()});
    for (const Mistake& mistake : listed->list()) AddOne(mistake);
  }
  void Throw() const { diagnostics_.Throw(); }

 private:
  void AddOne(const Mistake& mistake) {
    const std::string key = mistake.file + "\n" + std::to_string(mistake.at.line) + ":" +
                            std::to_string(mistake.at.column) + "\n" + mistake.message;
    if (seen_.insert(key).second) diagnostics_.Add(mistake.file, mistake.at, mistake.message);
  }

  Diagnostics diagnostics_;
  std::set<std::string> seen_;
};

// As medley train does before it opens libtorch.
RunConfig CheckCombination(const SweepRequest& request, const std::vector<std::string>& overrides,
                           std::vector<std::string>& warnings) {
  RunFiles files(request.config, overrides);
  const Registry registry = ScanPlugins(request.config, request.plugins, files).registry;
  PublishedFilesOf(request.config, files, registry).Require();
  const CheckedRun checked = CheckRun(request.config, files.overrides(), registry, RunAge::kBegins,
                                      std::nullopt, Locks::kHold, files.of_model());
  ConfirmOnEvent(checked.run.on_event, request.config,
                 {.overrides = overrides, .allow_config = request.allow_on_event});
  CheckDataFiles(checked.run, checked.curriculum, registry);
  warnings.push_back(ThreadsWarning(checked.run.threads, Cores()));
  for (OddSetting& setting : OddSettings(checked, registry)) warnings.push_back(std::move(setting.words));
  return checked.run;
}

// What runs are made from, and would differ in unsaid where it changed while they are trained one by one.
void AddFiles(const RunConfig& config, std::map<std::string, std::string>& files) {
  const std::pair<const char*, fs::path> named[] = {{"model", config.model},
                                                    {"tokenizer", config.tokenizer},
                                                    {"weights", config.weights},
                                                    {"control text", config.control_text}};
  for (const auto& [what, path] : named) {
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored)) files[std::string(what) + " " + path.string()] = HashFile(path);
  }
}

// Whether a profile may be that of runs with other values of the key. A profile refuses a run of another
// RunProfileKey: model, tokenizer, what is trained, device, threads, numerics. It measures tasks anew where
// their TaskProfileKey differs: variant, options, terms. Neither looks at these.
bool ChangesNoProfile(const std::string& key) {
  static const std::set<std::string> kKeys = {"balance",        "budget", "checkpoint",  "data",
                                              "draws_per_step", "eval",   "hours",       "on_event",
                                              "on_task_error",  "plan",   "seed",        "start_timeout",
                                              "steps",          "tasks",  "tensorboard", "weights"};
  const std::vector<std::string> path = SplitPath(key);
  if (path.front() == "optimizer")
    return path.size() > 1 && path[1] != "groups";  // which say what is trained
  return kKeys.count(path.front()) > 0;
}

std::string PlanOf(const SweepGroup& group, const std::vector<SweptKey>& keys, const RunConfig& config) {
  if (!config.plan) return "";
  std::string plan = "plan";
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (!ChangesNoProfile(keys[i].key)) plan += "\n" + keys[i].key + "=" + group.values[i];
  return plan;
}

// Each run has its own where it is swept.
std::vector<std::string> ShareBeside(const std::vector<SweptKey>& keys, std::vector<std::string> share) {
  std::erase_if(share, [&](const std::string& one) {
    return std::any_of(keys.begin(), keys.end(),
                       [&](const auto& key) { return one.starts_with(key.key + "="); });
  });
  return share;
}

// Groups are named by their keys in the order in which the sweep began with them.
void OrderAs(const std::vector<SweptKey>& begun, std::vector<SweptKey>& keys) {
  const auto place = [&](const SweptKey& key) {
    return std::find_if(begun.begin(), begun.end(), [&](const auto& one) { return one.key == key.key; });
  };
  std::stable_sort(keys.begin(), keys.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
}

void RequireSomethingToCompare(const SweepRequest& request, const SweepArguments& arguments) {
  if (request.seeds > 0 && arguments.seeds.size() > 1)
    throw InputError("--seeds counts from one seed on, and seed=" + std::to_string(arguments.seeds[0]) +
                     ",... names them; leave one out");
  if (!arguments.keys.empty() || arguments.seeds.size() > 1 || request.seeds > 1) return;
  throw InputError(
      "nothing differs between the runs of this sweep. Give a key several values, such as "
      "optimizer.learning_rate=1e-3,3e-4, or ask for several seeds (--seeds 3); medley train trains one run");
}

std::vector<std::int64_t> SeedsOf(const SweepRequest& request, const SweepArguments& arguments,
                                  std::int64_t of_config) {
  if (arguments.seeds.size() > 1) return arguments.seeds;
  std::vector<std::int64_t> seeds;
  for (std::int64_t i = 0; i < std::max<std::int64_t>(1, request.seeds); ++i) seeds.push_back(of_config + i);
  return seeds;
}

void RequireFewEnough(const SweepRequest& request, const SweepArguments& arguments) {
  std::size_t runs =
      std::max<std::size_t>({1, arguments.seeds.size(), static_cast<std::size_t>(request.seeds)});
  for (const SweptKey& key : arguments.keys) {
    runs *= key.values.size();
    if (runs > kMostRuns)
      throw InputError("this sweep has more than " + std::to_string(kMostRuns) +
                       " runs; give fewer values, or sweep one key after the other");
  }
}

// Checks all groups; returns the config of the first.
RunConfig CheckGroups(const SweepRequest& request, const SweepArguments& arguments, CheckedSweep& sweep) {
  const SweepRecord& record = sweep.record;
  AllMistakes mistakes;
  std::optional<RunConfig> first;
  for (const SweepGroup& group : record.groups) {
    std::vector<std::string> overrides = record.fixed;
    for (std::string& one : OverridesOf(group, record.keys)) overrides.push_back(std::move(one));
    if (!arguments.seeds.empty()) overrides.push_back("seed=" + std::to_string(arguments.seeds.front()));
    try {
      const RunConfig config = CheckCombination(request, overrides, sweep.warnings);
      sweep.groups.push_back({config.steps, config.hours, PlanOf(group, record.keys, config)});
      AddFiles(config, sweep.record.files);
      if (!first) first = config;
    } catch (const InputError& error) {
      mistakes.Add(error);
    }
  }
  mistakes.Throw();
  return *first;
}

std::vector<std::string> EachOnce(const std::vector<std::string>& all) {
  std::vector<std::string> once;
  for (const std::string& one : all)
    if (!one.empty() && std::find(once.begin(), once.end(), one) == once.end()) once.push_back(one);
  return once;
}

}  // namespace

CheckedSweep CheckSweep(const SweepRequest& request) {
  SweepArguments arguments = ParseSweep(request.arguments);
  RequireSomethingToCompare(request, arguments);
  RequireFewEnough(request, arguments);
  const std::optional<SweepRecord> begun = ReadSweep(request.directory);
  if (begun) OrderAs(begun->keys, arguments.keys);
  CheckedSweep sweep{
      .record = {.command = request.command,
                 .config = fs::absolute(request.config),
                 .keys = arguments.keys,
                 .fixed = arguments.fixed,
                 .groups = GroupsOf(arguments.keys, begun ? begun->groups : std::vector<SweepGroup>()),
                 .jobs = request.jobs},
      .groups = {},
      .warnings = {}};
  const RunConfig first = CheckGroups(request, arguments, sweep);
  SweepRecord& record = sweep.record;
  record.files["config"] = HashFile(request.config);
  record.seeds = SeedsOf(request, arguments, first.seed);
  if (const auto largest = std::max_element(record.seeds.begin(), record.seeds.end());
      static_cast<double>(*largest) > kLargestInteger)
    throw InputError("seed: " + std::to_string(*largest) + " is above " +
                     std::to_string(static_cast<std::int64_t>(kLargestInteger)) + ", the largest");
  if (begun) RequireSameSweep(*begun, record, request.directory);
  record.share = begun ? begun->share : ShareBeside(record.keys, ShareOfJobs(first, request.jobs));
  sweep.warnings = EachOnce(sweep.warnings);
  return sweep;
}

}  // namespace medley
