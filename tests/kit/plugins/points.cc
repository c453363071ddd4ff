// Points of a CSV file and the classes that it names, and a model that tells as many apart.
#include <medley/data/class_names.h>
#include <medley/data/csv_file.h>
#include <medley/data/splits.h>
#include <medley/model/parameter_model.h>
#include <medley/task/drivers/classify_task.h>
#include <medley/task/plugin.h>

#include <ATen/ops/tensor.h>

#include <set>

using namespace medley;

class PointNet final : public ParameterModel {
 public:
  static constexpr ModelSpec kSpec{
      .name = "point_net",
      .summary = "two linear maps",
      .fields = {IntegerField("classes", 2, 2, 1000, "Classes"), IntegerField("width", 16, 1, 64, "Width")},
      .inputs = {{.name = "point", .dimensions = {"rows", "2"}}},
      .outputs = {{.name = "logits", .dimensions = {"rows", "classes"}}}};
  explicit PointNet(const ModelContext& context)
      : ParameterModel(kSpec, context),
        body_(set(), "body", 2, context.config.Integer("width"), true),
        head_(set(), "head", context.config.Integer("width"), context.config.Integer("classes"), true) {}
  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs&, ForwardContext&) const override {
    return {{"logits", head_(body_(InputNamed(inputs, "point").to(FloatTypeOf(*this))).tanh())}};
  }

 private:
  Linear body_, head_;
};

class Points final : public ClassifyTask {
 public:
  static constexpr TaskSpec kSpec = ClassifySpec(
      "points", "say of which kind a point is",
      {.inputs = {"point"},
       .classes = 0,
       .options = {PathOption("data", "a CSV file with x, y and label"),
                   PathOption("validation", "another, for evaluations", false),
                   {.name = "held_out", .value = 0.2, .high = 1e6, .summary = "points for evaluations"}}});
  static std::vector<std::string> Classes(const TaskOptions& options) {
    const CsvFile file(options.Path("data"));
    std::set<std::string> names;
    for (std::int64_t item = 0; item < file.size(); ++item)
      names.insert(ClassName(file.Read(item)[file.Column("label")]));
    return SortedClasses(names);
  }
  explicit Points(const TaskContext& context)
      : ClassifyTask(context, kSpec),
        points_(context.Path("data"), context.Path("validation"), context.HeldOut("held_out")) {
    const ClassTable classes(context.Classes());
    points_.ForEach([&](const CsvFile& file, std::int64_t item) {
      labels_.push_back(classes.Require(ClassName(file.Read(item)[file.Column("label")]),
                                        [&] { return file.PlaceOf(item) + ": label"; }));
    });
    counts_ = points_.stream().TrainingCounts(labels_, classes.size());
  }
  const ItemStream* Items() const override { return &points_.stream(); }

 private:
  Classified Draw(Row& row) const override {
    const std::vector<std::string> fields = points_.Read(row);
    const std::int64_t item = points_.stream().ItemOf(row.range, row.number);
    return {.inputs = {at::tensor({std::stof(fields[0]), std::stof(fields[1])})},
            .label = labels_[static_cast<std::size_t>(item)]};
  }
  std::vector<std::int64_t> TrainingCounts() const override { return counts_; }

  Splits<CsvFile> points_;
  std::vector<std::int64_t> labels_, counts_;  // by item; by class
};

MEDLEY_PLUGIN(Points, PointNet)
