#include <medley/update/kept_bytes.h>

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <medley/base/bytes.h>
#include <medley/model/float_type.h>
#include <medley/report/table.h>
#include <medley/update/parameter_groups.h>
#include <medley/update/shards.h>

namespace medley {
namespace {

// Of one line of the table.
struct Account {
  std::string name;
  std::int64_t parameters = 0, weights = 0;
  KeptBytes training{};
};

struct Column {
  const char* name;
  std::int64_t KeptBytes::*bytes;
};
constexpr Column kColumns[] = {{"gradients", &KeptBytes::gradients}, {"moments", &KeptBytes::moments},
                               {"masters", &KeptBytes::masters},     {"average", &KeptBytes::averages},
                               {"trend", &KeptBytes::trends},        {"directions", &KeptBytes::directions},
                               {"scratch", &KeptBytes::scratch}};

// Columns of which there is nothing are left out, but for the first two.
Table TableOf(const std::vector<Account>& accounts) {
  std::vector<Column> columns;
  for (const Column& column : kColumns) {
    const bool any = std::ranges::any_of(
        accounts, [&](const Account& account) { return account.training.*column.bytes > 0; });
    if (any || columns.size() < 2) columns.push_back(column);
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

// Of a parameter of which a process updates so many numbers.
KeptBytes KeptBytesOf(const OptimizerConfig& config, const Parameter& parameter, std::int64_t own) {
  if (!IsTrained(config, parameter)) return {};
  const at::ScalarType type = parameter.tensor.scalar_type(), wide = AtLeastFloat(type);
  const std::int64_t bytes = parameter.tensor.numel() * static_cast<std::int64_t>(c10::elementSize(wide));
  return {.gradients = bytes,
          .moments = RuleOf(config, parameter)->StateBytes(own, wide),
          .masters = wide == type ? 0 : bytes,
          .averages = config.average > 0 ? bytes : 0,
          .trends = config.trend ? bytes : 0,
          .directions = DirectionBuffers(config, wide == type) * bytes};
}

// Each parameter's, in the process with this place.
std::vector<KeptBytes> KeptBytesOfEach(const OptimizerConfig& config, const Model& model,
                                       const ShardPlace& place) {
  const Shards shards(config, model.parameters(), place);
  std::vector<KeptBytes> kept;
  for (std::size_t i = 0; i < model.parameters().size(); ++i)
    kept.push_back(KeptBytesOf(config, model.parameters()[i], shards.OwnNumbers(i)));
  return kept;
}

// Of all rules, each of which has room for its largest parameter.
std::int64_t ScratchBytes(const OptimizerConfig& config, const Model& model) {
  std::map<std::string, std::int64_t> largest;
  for (const Parameter& parameter : model.parameters()) {
    if (!IsTrained(config, parameter)) continue;
    const at::TensorOptions masters =
        parameter.tensor.options().dtype(AtLeastFloat(parameter.tensor.scalar_type()));
    const auto rule = RuleOf(config, parameter);
    std::int64_t& bytes = largest[rule->name()];
    bytes = std::max(bytes, rule->ScratchBytes(parameter.tensor.numel(), masters));
  }
  std::int64_t bytes = 0;
  for (const auto& [rule, scratch] : largest) bytes += scratch;
  return bytes;
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
  for (const Column& column : kColumns) this->*column.bytes += other.*column.bytes;
  return *this;
}

KeptBytes KeptBytesOf(const OptimizerConfig& config, const Parameter& parameter) {
  return KeptBytesOf(config, parameter, parameter.tensor.numel());
}

KeptBytes KeptBytesOf(const OptimizerConfig& config, const Model& model, const ShardPlace& place) {
  KeptBytes kept;
  for (const KeptBytes& bytes : KeptBytesOfEach(config, model, place)) kept += bytes;
  kept.scratch = ScratchBytes(config, model) + LargestToRound(config, model);
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

std::string RuleWords(const Model& model, const OptimizerConfig& config) {
  std::set<std::string> words;
  for (const Parameter& parameter : model.parameters()) {
    if (IsTrained(config, parameter))
      words.insert(RuleOf(config, parameter)->Words(parameter.tensor.device()));
  }
  std::string all;
  for (const std::string& line : words) all += (all.empty() ? "" : "\n") + line;
  return all;
}

// Of each group what each rule updates; what AdamW does is named where another has a part of it.
std::string GroupsTable(const Model& model, const OptimizerConfig& config, const ShardPlace& place) {
  std::vector<std::string> names;
  for (const ParameterGroup& group : config.groups)
    names.push_back(group.match + (group.frozen ? " (frozen)" : ""));
  names.emplace_back(config.groups.empty() ? "all" : "all others");
  std::vector<std::map<RuleName, Account>> groups(names.size());
  const std::vector<KeptBytes> kept = KeptBytesOfEach(config, model, place);
  // What is frozen stands with what is trained of its group.
  std::vector<std::size_t> order(kept.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_partition(order,
                                [&](std::size_t i) { return IsTrained(config, model.parameters()[i]); });
  for (const std::size_t i : order) {
    const Parameter& parameter = model.parameters()[i];
    const ParameterGroup* group = GroupOf(config, parameter);
    auto& of_group = groups[group == nullptr ? config.groups.size() : group - config.groups.data()];
    const RuleName other = of_group.empty() ? RuleName::kAdamW : of_group.begin()->first;
    Account& account = of_group[IsTrained(config, parameter) ? RuleNameOf(config, parameter) : other];
    account.parameters += parameter.tensor.numel();
    account.weights += static_cast<std::int64_t>(parameter.tensor.nbytes());
    account.training += kept[i];
  }
  std::vector<Account> lines;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].empty()) groups[i][RuleName::kAdamW];
    const bool is_plain = groups[i].size() == 1 && groups[i].count(RuleName::kAdamW) > 0;
    for (auto& [rule, account] : groups[i]) {
      account.name = names[i] + (is_plain ? "" : " (" + EnumName(rule) + ")");
      lines.push_back(std::move(account));
    }
  }
  if (const std::int64_t scratch = KeptBytesOf(config, model).scratch; scratch > 0)
    lines.push_back({.name = "scratch", .training = {.scratch = scratch}});
  return TableOf(lines).ToText();
}

}  // namespace medley
