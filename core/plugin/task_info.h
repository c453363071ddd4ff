#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <medley/base/facts_read.h>
#include <medley/config/option_value.h>
#include <medley/task/spec.h>

namespace medley {

// A task's spec as read from a plugin's note; what its fields mean stands in task/spec.h.
using PassInfo = facts::Pass<facts::Read>;
using TermInfo = facts::Term<facts::Read>;
using VariantInfo = facts::Variant<facts::Read>;
using ConstantInfo = facts::Constant<facts::Read>;
using ScoreInfo = facts::Score<facts::Read>;

struct OptionInfo : facts::Option<facts::Read> {
  OptionValue Default() const;  // of a path ""
  // What it may be: "0 to 1", "true or false", "near or far", "the path of a file or a directory".
  std::string Allowed() const;
  // "expected ..., found ...", or "" for a value that it may have. Of a path only that it is one.
  std::string Problem(const OptionValue& value) const;
};
template <>
struct facts::InfoOf<facts::Option> {
  using Type = OptionInfo;
};

// Its first variant is "default".
struct TaskInfo : facts::Task<facts::Read> {
  TaskInfo() = default;
  explicit TaskInfo(facts::Task<facts::Read> read);
  // As its author wrote it: without the default in front of the variants.
  facts::Task<facts::Read> AsDeclared() const;

  // Null where the task has no such option.
  const OptionInfo* FindOption(std::string_view option) const;
  // Null where the task has no such variant.
  const VariantInfo* FindVariant(std::string_view variant) const;
  // Throws an InputError with the variants that it has.
  const VariantInfo& RequireVariant(std::string_view variant) const;
  std::vector<std::string> VariantNames() const;

 private:  // empty: they are the first variant's
  using facts::Task<facts::Read>::passes, facts::Task<facts::Read>::terms;
};

}  // namespace medley
