#include <medley/task/task.h>

#include <medley/base/random.h>
#include <medley/base/suggest.h>
#include <medley/text/chat_strings.h>

namespace medley {

// Out of line: one vtable and one type_info for libmedley and every plugin.
PassContext::~PassContext() = default;
EvalPass::~EvalPass() = default;
EvalContext::~EvalContext() = default;
Task::~Task() = default;

std::uint64_t PassContext::Seed(std::string_view site) {
  return CombineSeeds(batch().rows().seed, HashName(site));
}
ModelOutputs EvalPass::ForwardOf(std::string_view, const ModelInputs& inputs, const WantedOutputs& wanted) {
  return Forward(inputs, wanted);
}

at::Tensor Task::Constant(std::string_view name) const {
  throw Error("the spec declares the constant '" + std::string(name) +
              "', which the task class does not make: override Constant");
}

const ItemStream* Task::Items() const { return nullptr; }
std::int64_t Task::CacheBytes() const { return 0; }
AskForm Task::Asks() const { return {}; }
Asked Task::Ask(const Questions&) const {
  throw Error("the task class says that it can be asked (Asks), and does not say how: override Ask");
}

namespace {

template <typename T>
const T& Value(const OptionValues& options, std::string_view name, const char* kind) {
  const auto found = options.find(name);
  if (found == options.end())
    throw Error("the spec has no option '" + std::string(name) + "'; it has: " + Listed(options));
  if (const T* value = std::get_if<T>(&found->second)) return *value;
  throw Error("the spec's option '" + std::string(name) + "' is not " + kind);
}

template <typename T>
const T& Declared(const T* part, const ModelConfig& model, const char* what, const char* field) {
  if (part != nullptr) return *part;
  throw InputError(std::string("the task asks for ") + what + ", which the model '" + model.kind() +
                   "' does not declare. Choose a model that does, or give its spec " + field);
}

}  // namespace

const Tokenizer& TaskContext::tokenizer() const {
  return Declared(surroundings_.tokenizer, model(), "the tokenizer", ".tokenizer = true");
}
const ImageGeometry& TaskContext::image() const {
  return Declared(surroundings_.image ? &*surroundings_.image : nullptr, model(), "the size of pictures",
                  ".pictures");
}
const std::vector<std::string>& TaskContext::control_text() const {
  return Declared(surroundings_.control_text, model(), "the control text", ".control_text = true");
}

HeldOutItems TaskContext::HeldOut(std::string_view option, std::string_view by_place) const {
  std::string files;
  for (const auto& [name, value] : options) {
    const auto* path = std::get_if<std::string>(&value);
    // A word, or a file that is not given; nor does a chat format's say what the items are.
    if (path == nullptr || !path->starts_with('/') || name == kChatOption) continue;
    files += (files.empty() ? "" : ", ") + std::filesystem::path(*path).filename().string();
  }
  return {.asked = Option(option),
          .task = surroundings_.task,
          .option = "tasks." + surroundings_.task + ".options." + std::string(option),
          .files = files,
          .by_place = by_place.empty() ? surroundings_.task : std::string(by_place),
          .rules = surroundings_.rules};
}

ChatStrings TaskContext::Chat(std::string_view option) const {
  const std::string& asked = Word(option).empty() ? surroundings_.chat : Word(option);
  return surroundings_.rules != nullptr ? surroundings_.rules->Chat(asked) : DataRules().Chat(asked);
}

bool TaskContext::NamesAreText() const {
  if (const auto named = options.find("special_tokens"); named != options.end()) {
    if (const bool* are_tokens = std::get_if<bool>(&named->second); are_tokens != nullptr && *are_tokens)
      return false;
  }
  return surroundings_.rules == nullptr || surroundings_.rules->NamesAreText();
}

void TaskContext::Say(const std::string& words) const {
  if (surroundings_.rules != nullptr) surroundings_.rules->Say("'" + surroundings_.task + "': " + words);
}

double TaskOptions::Option(std::string_view name) const { return Value<double>(options, name, "a number"); }
bool TaskOptions::Switch(std::string_view name) const { return Value<bool>(options, name, "a switch"); }
const std::string& TaskOptions::Word(std::string_view name) const {
  return Value<std::string>(options, name, "a word");
}
std::filesystem::path TaskOptions::Path(std::string_view name) const {
  return Value<std::string>(options, name, "a path");
}

}  // namespace medley
