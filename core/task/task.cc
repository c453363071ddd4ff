#include <medley/task/task.h>

#include <medley/base/suggest.h>

namespace medley {

// Out of line: one vtable and one type_info for libmedley and every plugin.
PassContext::~PassContext() = default;
EvalPass::~EvalPass() = default;
EvalContext::~EvalContext() = default;
Task::~Task() = default;

at::Tensor Task::Constant(std::string_view name) const {
  throw Error("the spec declares the constant '" + std::string(name) +
              "', which the task class does not make: override Constant");
}

const ItemStream* Task::Items() const { return nullptr; }

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

double TaskOptions::Option(std::string_view name) const { return Value<double>(options, name, "a number"); }
bool TaskOptions::Switch(std::string_view name) const { return Value<bool>(options, name, "a switch"); }
const std::string& TaskOptions::Word(std::string_view name) const {
  return Value<std::string>(options, name, "a word");
}
std::filesystem::path TaskOptions::Path(std::string_view name) const {
  return Value<std::string>(options, name, "a path");
}

}  // namespace medley
