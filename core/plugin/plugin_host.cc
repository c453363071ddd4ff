#include <medley/plugin/plugin_host.h>

#include <algorithm>
#include <utility>
#include <variant>

#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/data/item_stream.h>
#include <medley/plugin/python_host.h>
#include <medley/plugin/task_classes.h>
#include <medley/plugin/variant_of.h>

#include "plugin_call.h"
#include "plugin_library.h"

namespace medley {
namespace {

template <typename Items>
std::vector<std::string> NamesOf(const Items& items) {
  std::vector<std::string> names;
  for (const auto& item : items) {
    if constexpr (requires { item->name; })
      names.push_back(item->name);
    else
      names.push_back(item.name);
  }
  return names;
}

[[noreturn]] void NoSuch(const std::string& task, const std::string& what, const std::string& name,
                         const std::vector<std::string>& names) {
  throw InputError("task '" + task + "' has no " + what + " '" + Printable(name) + "'" +
                   DidYouMean(name, names) + " (it has: " + (names.empty() ? "none" : JoinNames(names)) +
                   ")");
}

const OptionInfo* MissingOption(const TaskInfo& info, const TaskConfig& settings) {
  for (const OptionInfo& option : info.options) {
    if (option.required && settings.options.count(option.name) == 0) return &option;
  }
  return nullptr;
}

OptionValues MergeOptions(const TaskInfo& info, const TaskConfig& settings) {
  OptionValues options;
  for (const OptionInfo& option : info.options) options[option.name] = option.Default();
  for (const auto& [name, value] : settings.options) {
    const OptionInfo* option = info.FindOption(name);
    if (option == nullptr) NoSuch(info.name, "option", name, NamesOf(info.options));
    if (const std::string problem = OptionProblem(info, *option, value); !problem.empty())
      throw InputError("task '" + info.name + "': option '" + Printable(name) + "': " + problem);
    options[name] = value;
  }
  if (const OptionInfo* option = MissingOption(info, settings); option != nullptr)
    throw InputError("task '" + info.name + "' needs the option '" + option->name +
                     "': " + option->Allowed() + " (" + option->summary + ")");
  return options;
}

bool ReadsFiles(const TaskInfo& info, const OptionValues& options) {
  return std::ranges::any_of(info.options, [&](const OptionInfo& option) {
    return option.kind == OptionKind::kPath && !std::get<std::string>(options.at(option.name)).empty();
  });
}

void CheckSpecialTokens(const TaskInfo& info, const Tokenizer* tokenizer) {
  std::vector<std::string> missing;
  for (const std::string& token : info.special_tokens) {
    if (tokenizer == nullptr || !tokenizer->Has(token)) missing.push_back(token);
  }
  if (missing.empty()) return;
  throw InputError("task '" + info.name + "' needs special tokens that the tokenizer has not: " +
                   JoinNames(missing) + ". Make a tokenizer that has them: medley tokenizer train");
}

void NoteHowItHoldsOut(const LoadedTask& task, DataRules* rules) {
  if (rules == nullptr) return;
  const ItemStream* items = task.Items();
  if (items != nullptr && items->is_by_place()) rules->NoteByPlace(task.info().name, items->rows_held_out());
}

// In its plugin, which knows it by its kind.
std::size_t TaskIndex(const Registry& registry, std::string_view task) {
  const PluginFile& file = registry.FileOf(task);
  const std::string& kind = registry.KindOf(task);
  std::size_t index = 0;
  while (file.tasks[index].name != kind) ++index;
  return index;
}

const PluginLibrary& LibraryOf(const PluginFile& file, const TaskInfo& task) {
  const std::string plugin = file.path.stem().string();
  return *CallPlugin(plugin, task.name, "loading " + file.path.string(), [&] {
    const GlobalStateGuard guard(HashName(plugin));
    return &PluginLibrary::Load(file);
  });
}

}  // namespace

TaskHost::~TaskHost() = default;

PluginHost::PluginHost(Context context) : context_(std::move(context)) {}
PluginHost::~PluginHost() = default;

LoadedTask& PluginHost::Get(const Form& form) {
  auto found = tasks_.find(form.id);
  if (found == tasks_.end()) found = tasks_.emplace(form.id, Load(form)).first;
  return *found->second.task;
}

LoadedTask* PluginHost::Find(const FormId& form) const {
  const auto found = tasks_.find(form);
  return found == tasks_.end() ? nullptr : found->second.task.get();
}

const VariantInfo& PluginHost::Variant(const Form& form) {
  const TaskInfo& info = context_.registry.Require(form.task);
  const VariantInfo& variant = info.RequireVariant(form.settings.variant);
  if (!HasSizesByOption(variant)) return variant;
  const auto known = sized_.find(form.id);
  return known != sized_.end() ? known->second
                               : sized_.emplace(form.id, VariantOf(info, form.settings)).first->second;
}

std::optional<TaskOrigin> PluginHost::OriginOf(const std::string& task) const {
  return TaskOrigin{context_.registry.Require(task).version, context_.registry.FileOf(task).build_id};
}

PluginHost::Entry PluginHost::Load(const Form& form) {
  const TaskInfo& info = context_.registry.Require(form.task);
  const PluginFile& file = context_.registry.FileOf(form.task);
  const TaskConfig& settings = form.settings;
  if (info.FindVariant(settings.variant) == nullptr)
    NoSuch(info.name, "variant", settings.variant, NamesOf(info.variants));
  CheckSpecialTokens(info, context_.tokenizer);
  Entry entry;
  const ModelFile& model = context_.model;
  std::vector<std::string> classes = ClassesOf(form);
  if (!classes.empty()) RequireClasses(info, std::ssize(classes), model);
  const TaskSurroundings surroundings{
      .model = model.config,
      .tokenizer = model.info.tokenizer ? context_.tokenizer : nullptr,
      .image = model.Pictures(),
      .control_text = model.info.control_text ? &context_.control_text : nullptr,
      .rules = context_.rules,
      .task = info.name,
      .classes = std::move(classes),
      .chat = context_.chat};
  entry.context = std::make_unique<TaskContext>(surroundings, settings.variant, MergeOptions(info, settings));

  const std::string plugin = file.path.stem().string();
  const PluginLibrary& library = LibraryOf(file, info);
  const GlobalStateGuard guard(HashName(info.name));
  const TaskMaker make = [&library, index = TaskIndex(context_.registry, form.task),
                          &context = *entry.context] { return library.Make(index, context); };
  std::unique_ptr<Task> made = CallPlugin(plugin, info.name, "making the task", make);
  entry.task = std::make_unique<LoadedTask>(info, Variant(form), plugin, std::move(made),
                                            ReadsFiles(info, entry.context->options), make, file.is_python);
  NoteHowItHoldsOut(*entry.task, context_.rules);
  const std::string& kind = context_.registry.KindOf(form.task);
  if (context_.registry.HasFurtherNames(kind)) entry.task->ShareTables(tables_, kind);
  return entry;
}

std::vector<std::string> PluginHost::ClassesOf(const Form& form) const {
  const TaskInfo& info = context_.registry.Require(form.task);
  if (context_.rules != nullptr) {
    const std::vector<std::string>& kept = context_.rules->ClassesOf(info.name);
    if (!kept.empty()) return kept;
  }
  const PluginFile& file = context_.registry.FileOf(form.task);
  const TaskOptions options{MergeOptions(info, form.settings)};
  const PluginLibrary& library = LibraryOf(file, info);
  const GlobalStateGuard guard(HashName(info.name));
  std::vector<std::string> names =
      CallPlugin(file.path.stem().string(), info.name, "listing its classes",
                 [&] { return library.Classes(TaskIndex(context_.registry, info.name), options); });
  if (context_.rules != nullptr && !names.empty()) context_.rules->KeepClasses(info.name, names);
  return names;
}

std::vector<FormId> PluginHost::loaded() const {
  std::vector<FormId> forms;
  for (const auto& [form, entry] : tasks_) forms.push_back(form);
  return forms;
}

std::vector<std::string> PluginHost::Texts(const Registry& registry, const TextsRun& run,
                                           std::vector<std::string>* left_out) {
  std::vector<std::string> texts;
  std::vector<const TaskInfo*> tasks = registry.tasks();
  if (!run.tasks.empty()) tasks.clear();
  for (const std::string& name : run.tasks) tasks.push_back(&registry.Require(name));
  PrepareHosts(registry, NamesOf(tasks));
  for (const TaskInfo* info : tasks) {
    const TaskConfig settings = run.forms.Own(info->name).settings;
    if (left_out != nullptr && MissingOption(*info, settings) != nullptr) {
      left_out->push_back(info->name);
      continue;
    }
    const TextsContext context{{MergeOptions(*info, settings)}, run.control_text};
    const PluginFile& file = registry.FileOf(info->name);
    const GlobalStateGuard guard(HashName(info->name));
    std::vector<std::string> more =
        CallPlugin(file.path.stem().string(), info->name, "listing its texts",
                   [&] { return PluginLibrary::Load(file).Texts(TaskIndex(registry, info->name), context); });
    texts.insert(texts.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return texts;
}

}  // namespace medley
