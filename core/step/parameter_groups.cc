#include <medley/step/parameter_groups.h>

#include <ATen/core/Tensor.h>

#include <algorithm>

#include <medley/base/error.h>
#include <medley/model/float_type.h>
#include <medley/model/parameter_names.h>
#include <medley/report/table.h>

namespace medley {
namespace {

// Of one line of the table.
struct Account {
  std::string name;
  std::int64_t parameters = 0, weights = 0;
  KeptBytes training{};
};

void Add(const OptimizerConfig& config, const Parameter& parameter, Account& account) {
  account.parameters += parameter.tensor.numel();
  account.weights += static_cast<std::int64_t>(parameter.tensor.nbytes());
  account.training += KeptBytesOf(config, parameter);
}

}  // namespace

KeptBytes& KeptBytes::operator+=(const KeptBytes& other) {
  gradients += other.gradients;
  moments += other.moments;
  masters += other.masters;
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

void CheckGroups(const Model& model, const OptimizerConfig& config) {
  const std::vector<Parameter>& parameters = model.parameters();
  for (const ParameterGroup& group : config.groups) {
    const bool used = std::any_of(parameters.begin(), parameters.end(), [&](const Parameter& parameter) {
      return Matches(parameter, group.match);
    });
    if (used) continue;
    throw InputError(
        "optimizer.groups: no parameter matches '" + group.match + "'; the model has " +
        std::to_string(parameters.size()) + " parameters, such as " +
        (parameters.empty() ? "none" : parameters.front().name + " and " + parameters.back().name));
  }
}

KeptBytes KeptBytesOf(const OptimizerConfig& config, const Parameter& parameter) {
  if (!IsTrained(config, parameter)) return {};
  const at::ScalarType type = parameter.tensor.scalar_type(), wide = AtLeastFloat(type);
  const std::int64_t bytes = parameter.tensor.numel() * static_cast<std::int64_t>(c10::elementSize(wide));
  return {.gradients = bytes, .moments = 2 * bytes, .masters = wide == type ? 0 : bytes};
}

KeptBytes KeptBytesOf(const OptimizerConfig& config, const Model& model) {
  KeptBytes kept;
  for (const Parameter& parameter : model.parameters()) kept += KeptBytesOf(config, parameter);
  return kept;
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

std::string GroupsTable(const Model& model, const OptimizerConfig& config) {
  std::vector<Account> accounts;
  for (const ParameterGroup& group : config.groups)
    accounts.push_back({.name = group.match + (group.frozen ? " (frozen)" : "")});
  accounts.push_back({.name = config.groups.empty() ? "all" : "all others"});
  for (const Parameter& parameter : model.parameters()) {
    const ParameterGroup* group = GroupOf(config, parameter);
    Add(config, parameter, group == nullptr ? accounts.back() : accounts[group - config.groups.data()]);
  }
  const bool has_masters = std::any_of(accounts.begin(), accounts.end(),
                                       [](const Account& account) { return account.training.masters > 0; });
  std::vector<std::string> header = {"group", "parameters", "weights", "gradients", "moments"};
  if (has_masters) header.push_back("masters");
  Table table(header);
  const auto bytes = [](std::int64_t count) { return FormatBytes(static_cast<double>(count)); };
  for (const Account& account : accounts) {
    std::vector<std::string> row = {account.name, std::to_string(account.parameters), bytes(account.weights),
                                    bytes(account.training.gradients), bytes(account.training.moments)};
    if (has_masters) row.push_back(bytes(account.training.masters));
    table.Add(std::move(row));
  }
  return table.ToText();
}

}  // namespace medley
