#include <medley/plugin/task_classes.h>

#include <algorithm>

#include <medley/base/error.h>

namespace medley {

std::string ClassesField(const TaskInfo& task, const ModelInfo& model) {
  for (const TensorInfo& output : model.outputs) {
    if (output.dimensions.size() != 2 || output.dimensions.front() != "rows") continue;
    const FieldInfo* field = model.FindField(output.dimensions.back());
    if (field == nullptr || field->kind != FieldKind::kInteger) continue;
    if (std::ranges::find(task.outputs, output.name) != task.outputs.end()) return field->name;
  }
  return "";
}

void FollowClasses(const TaskInfo& task, std::int64_t classes, ModelFile& model) {
  const std::string name = ClassesField(task, model.info);
  if (name.empty()) return;
  if (model.left_out.erase(name) > 0) {
    const FieldInfo& field = *model.info.FindField(name);
    const auto count = static_cast<double>(classes);
    if (count < field.low || count > field.high)
      throw InputError("task '" + task.name + "' has " + std::to_string(classes) +
                       (classes == 1 ? " class" : " classes") + ", and the model '" + model.info.name +
                       "' tells " + std::to_string(static_cast<std::int64_t>(field.low)) + " to " +
                       std::to_string(static_cast<std::int64_t>(field.high)) + " apart (\"" + name + "\")");
    model.config.Set(name, count);
  }
  RequireClasses(task, classes, model);
}

void RequireClasses(const TaskInfo& task, std::int64_t classes, const ModelFile& model) {
  const std::string name = ClassesField(task, model.info);
  if (name.empty() || model.config.Integer(name) == classes) return;
  throw InputError(
      "task '" + task.name + "' has " + std::to_string(classes) + " classes, the model's \"" + name +
      "\" is " + std::to_string(model.config.Integer(name)) + ". Leave \"" + name +
      "\" out of the model's file: it then follows from the tasks, which must have equally many");
}

}  // namespace medley
