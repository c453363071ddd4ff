// The model of the twins.
#include <medley/model/mlp_model.h>
#include <medley/task/plugin.h>

namespace medley {

class LineNet final : public MlpModel {
 public:
  static constexpr ModelSpec kSpec =
      MlpSpec("line_net", "an MLP over series", {{.name = "series", .dimensions = {"rows", "24"}}},
              {{.name = "values", .dimensions = {"rows", "2"}}});
  explicit LineNet(const ModelContext& context) : MlpModel(kSpec, context) {}
};

class BoxNet final : public MlpModel {
 public:
  static constexpr ModelSpec kSpec = MlpSpec("box_net", "an MLP over pictures",
                                             {{.name = "picture", .dimensions = {"rows", "3", "32", "32"}}},
                                             {{.name = "corner", .dimensions = {"rows", "2"}}});
  explicit BoxNet(const ModelContext& context) : MlpModel(kSpec, context) {}
};

}  // namespace medley

MEDLEY_PLUGIN(medley::LineNet, medley::BoxNet)
