#include "spec_reader.h"

#include <optional>
#include <type_traits>
#include <utility>

#include <medley/base/spec_names.h>
#include <medley/model/model_spec_check.h>
#include <medley/task/abi.h>
#include <medley/task/spec_check.h>

#include "note_json.h"

namespace medley {
namespace {

using note::Bad, note::Boolean, note::Integer, note::Json, note::Text;

template <typename Info>
Info ReadFacts(const Json& object);

// Fills in the fields of one object, each by its type.
class FactsReader {
 public:
  explicit FactsReader(const Json& object) : object_(object) {}

  template <typename T>
  void operator()(const facts::Fact& fact, T& value) const {
    const std::string key(fact.key);
    if (fact.only_given && !object_.contains(key)) return;
    if constexpr (facts::HasFields<T>) {
      value = ReadFacts<T>(note::Field(object_, key));
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = fact.is_name ? note::Name(object_, key) : Text(object_, key);
    } else if constexpr (std::is_same_v<T, bool>) {
      value = Boolean(object_, key);
    } else if constexpr (std::is_same_v<T, double>) {
      value = note::Number(object_, key, fact.low);
    } else if constexpr (std::is_same_v<T, std::optional<double>>) {
      const auto found = object_.find(key);
      if (found != object_.end() && !found->is_null()) value = note::Number(object_, key, fact.low);
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      value = note::Texts(object_, key);
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      value = static_cast<T>(Integer(object_, key, fact.low));
    } else {
      ReadItems(key, value);
    }
  }

 private:
  // Names differ.
  template <typename Info>
  void ReadItems(const std::string& key, std::vector<Info>& items) const {
    for (const Json& item : note::List(object_, key)) items.push_back(ReadFacts<Info>(item));
    if constexpr (requires(const Info& info) { info.name; }) {
      if (!detail::NamesDiffer(items)) Bad("has one name twice in '" + key + "'");
    }
  }

  const Json& object_;
};

template <typename Info>
Info ReadFacts(const Json& object) {
  Info info;
  const FactsReader reader(object);
  Info::Fields(reader, info);
  return info;
}

void Require(bool good, const char* what) {
  if (!good) Bad(std::string("has ") + what);
}

TaskInfo ReadTask(const Json& json) {
  auto task = ReadFacts<facts::Task<facts::Read>>(json);
  if (const std::string what = WhatIsWrong(task); !what.empty()) Bad("has " + what);
  return TaskInfo(std::move(task));
}

ModelInfo ReadModel(const Json& json) {
  auto model = ReadFacts<ModelInfo>(json);
  Require(detail::FieldNamesAreGood(model), "a model with a bad name of a field or group");
  Require(detail::FieldsAreGood(model), "a model with a field whose default is not one of its values");
  Require(detail::RulesAreGood(model), "a model with a rule of fields that do not exist");
  Require(detail::SizesAreGood(model), "a model with a bad size");
  Require(detail::TensorsAreGood(model, model.inputs), "a model with a bad input");
  Require(detail::TensorsAreGood(model, model.outputs), "a model with a bad output");
  Require(detail::PicturesAreGood(model), "a model with pictures of no size");
  Require(detail::PretrainedIsGood(model), "a model whose pretrained group has not the fields of a language");
  Require(detail::TowerIsGood(model), "a model whose tower has not the fields of one, or no pictures");
  return model;
}

// With names that differ.
template <typename Read>
auto ReadAll(const Json& note, const std::string& key, Read read) {
  std::vector<decltype(read(note))> infos;
  for (const Json& item : note::List(note, key)) infos.push_back(read(item));
  if (!detail::NamesDiffer(infos)) Bad("has one name twice in '" + key + "'");
  return infos;
}

AbiInfo ReadAbi(const Json& note) {
  const Json& abi = note::Field(note, "abi");
  AbiInfo info;
  info.kind = Text(abi, "kind");
  info.api = Integer(abi, "api", 0);
  if (info.api != kPluginApi) return info;
  info.medley = Text(abi, "medley");
  info.headers = Text(abi, "headers");
  info.torch = Text(abi, "torch");
  info.cxx11 = Integer(abi, "cxx11", -1);
  info.standard_library = Text(abi, "standard_library");
  info.pointer = Integer(abi, "pointer", 0);
  info.glibcxx_debug = Boolean(abi, "glibcxx_debug");
  info.sanitizer = Text(abi, "sanitizer");
  info.compiler = Text(abi, "compiler");
  return info;
}

}  // namespace

std::string WhatIsWrong(const facts::Task<facts::Read>& task) {
  const bool has_all =
      detail::EveryVariant(task, [](const auto& p, const auto& t) { return !p.empty() && !t.empty(); });
  if (!has_all) return "no pass or no term";
  if (!detail::VariantNamesAreGood(task)) return "a further variant called 'default'";
  if (!detail::VariantSummariesAreGood(task))
    return "a variant whose summary is no line of at most 200 bytes";
  if (!detail::WidthsAreGood(task)) return "a size with the name of one that stands for itself";
  if (!detail::CarriesDiffer(task)) return "a carry that is made twice";
  if (!detail::GradientsCanFlow(task)) return "a carry of a pass without a gradient";
  if (!detail::SomethingIsLearned(task)) return "a term of which no pass could learn anything";
  if (!detail::ReferencesAreNamed(task)) return "a reference with a bad name";
  if (!detail::SizesHaveOptions(task)) return "a size that is said by an option which is none";
  if (!detail::ConstantsAreGood(task)) return "a constant that is neither int64 nor float32";
  if (!detail::OptionsAreGood(task))
    return "an option whose value is out of its range, or of a kind that is not known, or a word without "
           "words";
  if (!detail::ScoreIsGood(task.score))
    return "a score whose low is not below its high, or whose chance is not between them";
  return "";
}

PluginNote ReadPluginNote(std::string_view json) {
  const Json note = note::Parse(json);
  PluginNote read{ReadAbi(note), {}, {}};
  if (read.abi.api != kPluginApi) return read;
  read.tasks = ReadAll(note, "tasks", ReadTask);
  read.models = ReadAll(note, "models", ReadModel);
  if (read.tasks.empty() && read.models.empty()) Bad("has no task and no model");
  return read;
}

}  // namespace medley
