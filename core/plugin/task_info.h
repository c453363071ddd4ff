#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <medley/config/option_value.h>
#include <medley/task/spec.h>

namespace medley {

// TaskSpec as read from a plugin's note: the same facts, in types for the run time. See task/spec.h.
struct PassInfo {
  std::string name;
  int text_width = 0;
  std::vector<std::string> images;
  bool decodes_image = false;
  std::vector<std::string> carries;
  std::map<std::string, int> sizes{};  // further ones

  // The most of a model's size that a row has; 0 where the pass does not say.
  std::int64_t Size(std::string_view name) const;
};

struct TermInfo {
  std::string name;
  double weight = 1;
  int max_items = 1;
  bool stops_gradient = false;
  bool counts_otherwise = false;
};

struct VariantInfo {
  std::string name;
  std::vector<PassInfo> passes;
  std::vector<TermInfo> terms;

  bool Carries() const;               // does any pass make a carry?
  std::int64_t TokensPerRow() const;  // declared text widths, added up
};

struct ConstantInfo {
  std::string name;
  int rows = 0;
  int width = 0;
  std::string dtype;
};

struct OptionInfo {
  std::string name;
  double value = 0;
  double low = 0;
  double high = 1;
  std::string summary;
  OptionKind kind = OptionKind::kNumber;
  std::vector<std::string> words;
  bool required = false;

  OptionValue Default() const;  // of a path ""
  // What it may be: "0 to 1", "true or false", "near or far", "the path of a file or a directory".
  std::string Allowed() const;
  // "expected ..., found ...", or "" for a value that it may have. Of a path only that it is one.
  std::string Problem(const OptionValue& value) const;
};

struct ScoreInfo {
  std::string name;
  bool higher_is_better = true;
  std::optional<double> chance;
  std::optional<double> low{}, high{};
};

struct TaskInfo {
  std::string name;
  std::string version;
  std::string summary;
  std::vector<VariantInfo> variants;  // the first is "default"
  std::vector<ConstantInfo> constants;
  std::vector<OptionInfo> options;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> special_tokens;
  ScoreInfo score;
  bool rows_repeat = false;

  // Null where the task has no such option.
  const OptionInfo* FindOption(std::string_view option) const;
  // Null where the task has no such variant.
  const VariantInfo* FindVariant(std::string_view variant) const;
  // Throws an InputError with the variants that it has.
  const VariantInfo& RequireVariant(std::string_view variant) const;
  std::vector<std::string> VariantNames() const;
};

}  // namespace medley
