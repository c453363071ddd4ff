#include <medley/step/parameter_groups.h>

#include <ATen/core/Tensor.h>

#include <algorithm>

#include <medley/base/bytes.h>
#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/model/float_type.h>
#include <medley/model/parameter_names.h>
#include <medley/report/table.h>
#include <medley/step/compact_kernels.h>
#include <medley/step/compact_moments.h>
#include <medley/step/compact_operators.h>
#include <medley/step/moment_shards.h>
#include <medley/step/muon.h>

namespace medley {
namespace {

// Of one line of the table.
struct Account {
  std::string name;
  std::int64_t parameters = 0, weights = 0;
  KeptBytes training{};
};

bool HasMuon(const OptimizerConfig& config, const Parameter& parameter) {
  return IsTrained(config, parameter) && RuleOf(config, parameter) == UpdateRule::kMuon;
}

void CheckUsed(const Model& model, const OptimizerConfig& config) {
  const std::vector<Parameter>& parameters = model.parameters();
  for (const ParameterGroup& group : config.groups) {
    const bool used = std::any_of(parameters.begin(), parameters.end(), [&](const Parameter& parameter) {
      return Matches(parameter, group.match);
    });
    if (used) continue;
    throw InputError(
        "optimizer.groups: no parameter matches '" + Printable(group.match) + "'; the model has " +
        std::to_string(parameters.size()) + " parameters, such as " +
        (parameters.empty() ? "none" : parameters.front().name + " and " + parameters.back().name));
  }
}

void CheckRules(const Model& model, const OptimizerConfig& config) {
  const std::vector<Parameter>& parameters = model.parameters();
  for (const Parameter& parameter : parameters) {
    if (!HasMuon(config, parameter) || parameter.tensor.dim() >= 2) continue;
    throw InputError("optimizer.groups: '" + GroupOf(config, parameter)->match + "' matches " +
                     parameter.name +
                     ", which is no matrix, and Muon updates matrices. Let the pattern match matrices "
                     "only, or name " +
                     parameter.name + " in a group of \"rule\": \"adamw\" before it");
  }
  if (config.name != UpdateRule::kMuon || LargestOfMuon(config, model) > 0) return;
  const bool names_some = std::any_of(parameters.begin(), parameters.end(),
                                      [](const Parameter& parameter) { return parameter.hidden; });
  const std::string kind(model.spec().name);
  throw InputError(
      names_some
          ? "optimizer.name: muon updates hidden matrices, and all of " + kind +
                " are frozen or have another rule, as where adapters alone are trained. Leave the name out"
          : "optimizer.name: muon updates hidden matrices, and the model " + kind +
                " names none (ParameterSet::Hidden, Parameter::hidden). Leave the name out, or give a group "
                "of "
                "optimizer.groups \"rule\": \"muon\"");
}

void CheckNotDivided(const Model& model, const OptimizerConfig& config) {
  if (!config.shard || LargestOfMuon(config, model) == 0) return;
  throw InputError(
      "optimizer.shard divides the moments of AdamW among processes, and this run updates matrices with "
      "Muon, "
      "which makes each of them orthogonal as a whole. Leave optimizer.shard out, or train with adamw alone");
}

// Each group, behind it what has Muon of it, and at the end what all share.
std::vector<Account> Merged(std::vector<Account> groups, std::vector<Account> muon, std::int64_t scratch) {
  std::vector<Account> lines;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const bool has_muon = muon[i].parameters > 0;
    if (has_muon) groups[i].name += " (adamw)", muon[i].name += " (muon)";
    if (groups[i].parameters > 0 || !has_muon) lines.push_back(std::move(groups[i]));
    if (has_muon) lines.push_back(std::move(muon[i]));
  }
  if (scratch > 0) lines.push_back({.name = "scratch", .training = {.scratch = scratch}});
  return lines;
}

// Columns of which there is nothing are left out.
Table TableOf(const std::vector<Account>& accounts) {
  struct Column {
    const char* name;
    std::int64_t KeptBytes::*bytes;
  };
  std::vector<Column> columns = {{"gradients", &KeptBytes::gradients}, {"moments", &KeptBytes::moments}};
  for (const Column& column :
       {Column{"masters", &KeptBytes::masters}, Column{"average", &KeptBytes::averages},
        Column{"trend", &KeptBytes::trends}, Column{"directions", &KeptBytes::directions},
        Column{"scratch", &KeptBytes::scratch}}) {
    const bool any = std::any_of(accounts.begin(), accounts.end(),
                                 [&](const Account& account) { return account.training.*column.bytes > 0; });
    if (any) columns.push_back(column);
  }
  std::vector<std::string> header = {"group", "parameters", "their bytes"};
  for (const Column& column : columns) header.emplace_back(column.name);
  Table table(header);
  for (const Account& account : accounts) {
    std::vector<std::string> row = {account.name, std::to_string(account.parameters),
                                    FormatBytes(account.weights)};
    for (const Column& column : columns) row.push_back(FormatBytes(account.training.*column.bytes));
    table.Add(std::move(row));
  }
  return table;
}

// The line, the last step, and where the parameter is its own master, what is lent to the model.
std::int64_t DirectionBuffers(const OptimizerConfig& config, bool is_its_own_master) {
  if (!config.keeps_line) return 0;
  return 1 + (config.keeps_last_step ? 1 : 0) + (is_its_own_master ? 1 : 0);
}

// Of AdamW's two, of so many of the parameter's numbers.
std::int64_t BytesOfMoments(const OptimizerConfig& config, const Parameter& parameter, std::int64_t numbers) {
  const MomentsKind kind = MomentsOf(config, parameter);
  const auto wide = static_cast<std::int64_t>(c10::elementSize(AtLeastFloat(parameter.tensor.scalar_type())));
  return kind == MomentsKind::kFloat ? 2 * wide * numbers : CompactMoments::BytesFor(kind, numbers);
}

// Each parameter's, in the process with this place.
std::vector<KeptBytes> KeptBytesOfEach(const OptimizerConfig& config, const Model& model,
                                       const ShardPlace& place) {
  const auto divided = DividedNumbers(config, model.parameters(), place);
  std::vector<KeptBytes> kept;
  for (std::size_t i = 0; i < divided.size(); ++i) {
    const Parameter& parameter = model.parameters()[i];
    kept.push_back(KeptBytesOf(config, parameter));
    if (divided[i]) kept.back().moments = BytesOfMoments(config, parameter, divided[i]->size());
  }
  return kept;
}

// Whether operators of libtorch update moments of fewer bits of this model.
bool HasOperators(const OptimizerConfig& config, const Model& model) {
  const auto& parameters = model.parameters();
  return std::any_of(parameters.begin(), parameters.end(), [&](const Parameter& parameter) {
    return IsTrained(config, parameter) && !HasMuon(config, parameter) &&
           MomentsOf(config, parameter) != MomentsKind::kFloat &&
           CompactOperators::IsFor(parameter.tensor.device());
  });
}

// Bytes of the largest master of a half type, in which what such parameters are lent is computed.
std::int64_t LargestToRound(const OptimizerConfig& config, const Model& model) {
  std::int64_t largest = 0;
  for (const Parameter& parameter : model.parameters()) {
    if (config.keeps_line) largest = std::max(largest, KeptBytesOf(config, parameter).masters);
  }
  return largest;
}

}  // namespace

KeptBytes& KeptBytes::operator+=(const KeptBytes& other) {
  gradients += other.gradients;
  moments += other.moments;
  masters += other.masters;
  averages += other.averages;
  trends += other.trends;
  directions += other.directions;
  scratch += other.scratch;
  return *this;
}

const ParameterGroup* GroupOf(const OptimizerConfig& config, const Parameter& parameter) {
  for (const ParameterGroup& group : config.groups) {
    if (Matches(parameter, group.match)) return &group;
  }
  return nullptr;
}

bool IsTrained(const OptimizerConfig& config, const Parameter& parameter) {
  const ParameterGroup* group = GroupOf(config, parameter);
  return !parameter.frozen && (group == nullptr || !group->frozen);
}

UpdateRule RuleOf(const OptimizerConfig& config, const Parameter& parameter) {
  const ParameterGroup* group = GroupOf(config, parameter);
  if (group != nullptr && group->rule) return *group->rule;
  return parameter.hidden && parameter.tensor.dim() >= 2 ? config.name : UpdateRule::kAdamW;
}

MomentsKind MomentsOf(const OptimizerConfig& config, const Parameter& parameter) {
  const at::Tensor& tensor = parameter.tensor;
  const bool fits = AtLeastFloat(tensor.scalar_type()) == at::kFloat && tensor.numel() >= kLeastCompact &&
                    tensor.is_contiguous();
  return fits ? config.moments : MomentsKind::kFloat;
}

std::int64_t LargestOfMuon(const OptimizerConfig& config, const Model& model) {
  std::int64_t largest = 0;
  for (const Parameter& parameter : model.parameters()) {
    if (HasMuon(config, parameter)) largest = std::max(largest, parameter.tensor.numel());
  }
  return largest;
}

void CheckGroups(const Model& model, const OptimizerConfig& config) {
  CheckUsed(model, config);
  CheckRules(model, config);
  CheckNotDivided(model, config);
}

KeptBytes KeptBytesOf(const OptimizerConfig& config, const Parameter& parameter) {
  if (!IsTrained(config, parameter)) return {};
  const at::ScalarType type = parameter.tensor.scalar_type(), wide = AtLeastFloat(type);
  const std::int64_t bytes = parameter.tensor.numel() * static_cast<std::int64_t>(c10::elementSize(wide));
  return {.gradients = bytes,
          .moments = HasMuon(config, parameter) ? bytes
                                                : BytesOfMoments(config, parameter, parameter.tensor.numel()),
          .masters = wide == type ? 0 : bytes,
          .averages = config.average > 0 ? bytes : 0,
          .trends = config.trend ? bytes : 0,
          .directions = DirectionBuffers(config, wide == type) * bytes};
}

KeptBytes KeptBytesOf(const OptimizerConfig& config, const Model& model, const ShardPlace& place) {
  KeptBytes kept;
  for (const KeptBytes& bytes : KeptBytesOfEach(config, model, place)) kept += bytes;
  kept.scratch = Muon::BytesFor(LargestOfMuon(config, model), AtLeastFloat(FloatTypeOf(model))) +
                 LargestToRound(config, model);
  if (HasOperators(config, model)) kept.scratch += CompactOperators::BytesFor(config.moments);
  return kept;
}

KeptBytes MostKeptBytesOf(const OptimizerConfig& config, const Model& model, std::int64_t ranks) {
  KeptBytes most;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const KeptBytes kept = KeptBytesOf(config, model, {rank, ranks});
    if (rank == 0 || kept.state() > most.state()) most = kept;
    if (!config.shard) break;  // all keep the same
  }
  return most;
}

std::string MomentsWords(const Model& model, const OptimizerConfig& config) {
  if (!HasOperators(config, model)) return "";
  const at::Device device = model.parameters().front().tensor.device();
  return "optimizer.moments: on " + device.str() +
         " operators of libtorch update moments of fewer bits, one after the other: the slow way. They save "
         "the bytes all the same. There is no kernel: " +
         CompactKernelsProblem(device);
}

std::vector<Parameter> TrainedOf(const OptimizerConfig& config, const Model& model) {
  std::vector<Parameter> trained;
  for (const Parameter& parameter : model.parameters()) {
    if (!IsTrained(config, parameter)) continue;
    trained.push_back(parameter);
    trained.back().tensor = parameter.tensor.detach();  // what Model::To does to the parameter leaves it
  }
  return trained;
}

std::string GroupsTable(const Model& model, const OptimizerConfig& config, const ShardPlace& place) {
  std::vector<Account> accounts;
  for (const ParameterGroup& group : config.groups)
    accounts.push_back({.name = group.match + (group.frozen ? " (frozen)" : "")});
  accounts.push_back({.name = config.groups.empty() ? "all" : "all others"});
  std::vector<Account> muon = accounts;  // what has it of each
  const std::vector<KeptBytes> kept = KeptBytesOfEach(config, model, place);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const Parameter& parameter = model.parameters()[i];
    const ParameterGroup* group = GroupOf(config, parameter);
    const std::size_t line = group == nullptr ? config.groups.size() : group - config.groups.data();
    Account& account = HasMuon(config, parameter) ? muon[line] : accounts[line];
    account.parameters += parameter.tensor.numel();
    account.weights += static_cast<std::int64_t>(parameter.tensor.nbytes());
    account.training += kept[i];
  }
  return TableOf(Merged(std::move(accounts), std::move(muon), KeptBytesOf(config, model).scratch)).ToText();
}

}  // namespace medley
