#include <medley/curriculum/mixture.h>

#include <medley/config/field_reader.h>
#include <medley/config/field_writer.h>
#include <medley/curriculum/shares.h>

namespace medley {

template <typename Visitor>
void Fields(Visitor& visit, Mixture& c) {
  visit(c.unit, {.name = "unit", .help = "What the weights are shares of"});
  visit(c.order,
        {.name = "order",
         .help = "deficit: no task is ever further behind its share than one largest batch; urn: weight is "
                 "the number of cards in an urn that is drawn empty and filled again"});
  visit(c.weights, {.name = "weights",
                    .help = "By task; 0: paused. Ties go to the first",
                    .required = true,
                    .low = 0,
                    .high = kLargestWeight});
}

void ReadConfig(ConfigFile& file, Mixture& mixture) {
  ReadFields(file, mixture);
  const JsonNode* weights = file.root() ? file.root()->Find("weights") : nullptr;
  if (!weights || !weights->IsObject()) return;
  for (const JsonMember& member : weights->members) {
    const bool good = member.value.scalar.is_number() && member.value.scalar.get<double>() >= 0 &&
                      member.value.scalar.get<double>() <= kLargestWeight;
    if (!good) return;  // reported; the sum of the others says nothing
  }
  for (const WeightProblem& problem : CheckWeights(mixture)) {
    if (problem.task.empty())
      file.FailAt({"weights"}, problem.message);
    else
      file.FailAt({"weights", problem.task}, problem.message);
  }
}

Mixture ReadMixture(const std::filesystem::path& path) {
  Diagnostics diagnostics;
  ConfigFile file(path, diagnostics);
  Mixture mixture;
  ReadConfig(file, mixture);
  diagnostics.Throw();
  return mixture;
}

std::string_view NameOf(ShareUnit unit) {
  return EnumNames<ShareUnit>::kNames[static_cast<std::size_t>(unit)];
}

std::string_view NameOf(DrawOrder order) {
  return EnumNames<DrawOrder>::kNames[static_cast<std::size_t>(order)];
}

std::vector<std::string> Mixture::Active() const {
  std::vector<std::string> tasks;
  for (const auto& [task, weight] : weights) {
    if (weight > 0) tasks.push_back(task);
  }
  return tasks;
}

void Mixture::Pause(const std::string& task) {
  for (auto& [name, weight] : weights) {
    if (name == task) weight = 0;
  }
}

nlohmann::ordered_json ToJson(const Mixture& mixture) { return FieldDumper::Dump(mixture); }

nlohmann::ordered_json MixtureSchema() {
  return SchemaWriter::File<Mixture>("medley weights file", "How much of each task a run trains.");
}

}  // namespace medley
