// Signs from poses: which one a signer makes, of sixty in made-up clips, or of those of a file of recorded
// ones.
#include <ATen/core/Tensor.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/error.h>
#include <medley/task/drivers/classify_task.h>
#include <medley/task/plugin.h>

#include "network/models.h"
#include "pose/augment.h"
#include "pose/boxes.h"
#include "pose/clip_source.h"
#include "pose/file_clips.h"
#include "pose/generator.h"

namespace medley_signs {

constexpr int kMostFrames = 150;

class MadeUpClips final : public ClipSource {
 public:
  explicit MadeUpClips(const medley::TaskContext& context)
      : setting_{.shortest = static_cast<std::int64_t>(context.Option("shortest")),
                 .longest = static_cast<std::int64_t>(context.Option("longest")),
                 .movements = static_cast<int>(context.Option("movements")),
                 .places = static_cast<int>(context.Option("places")),
                 .handshapes = static_cast<int>(context.Option("handshapes")),
                 .scale = context.Option("scale"),
                 .jitter = context.Option("jitter"),
                 .missing = context.Option("missing")} {
    if (setting_.shortest > setting_.longest)
      throw medley::InputError("shortest " + std::to_string(setting_.shortest) + " is above longest " +
                               std::to_string(setting_.longest));
  }
  Clip Draw(medley::Row& row) const override {
    medley::RowRandom random(row.random.Bits());
    return MakeClip(SignOfRow(row.number, setting_), setting_, row.split(), random,
                    row.longest() ? setting_.longest : 0);
  }

 private:
  SignSetting setting_;
};

// A file's chance is its own.
constexpr medley::TaskSpec SpecOf(const medley::ClassifySetting& setting) {
  medley::TaskSpec spec =
      medley::ClassifySpec("signs", "say which sign a signer makes, from the joints' places", setting);
  spec.score.chance_of_any_rows = false;
  return spec;
}

class Signs final : public medley::ClassifyTask {
 public:
  static constexpr medley::TaskSpec kSpec = SpecOf(
      {.inputs = {"poses", "lengths"},
       .classes = kSigns,
       .sizes = {{"frames", kMostFrames}},
       .options = {
           {.name = "shortest",
            .value = 30,
            .low = 1,
            .high = kMostFrames,
            .summary = "frames of the shortest made-up clip"},
           {.name = "longest",
            .value = kMostFrames,
            .low = 1,
            .high = kMostFrames,
            .summary = "frames of the longest clip; of longer ones the first are kept"},
           {.name = "movements",
            .value = kMovements,
            .low = 1,
            .high = kMovements,
            .summary = "how many of the six movements are used"},
           {.name = "places",
            .value = kPlaces,
            .low = 1,
            .high = kPlaces,
            .summary = "how many of the five places are used"},
           {.name = "handshapes",
            .value = kHandshapes,
            .low = 1,
            .high = kHandshapes,
            .summary = "how many of the two handshapes are used"},
           {.name = "scale",
            .value = 1,
            .low = 0.1,
            .high = 2,
            .summary = "size of the signer, whose neck stays where it is"},
           {.name = "jitter",
            .value = 1,
            .low = 0,
            .high = 10,
            .summary = "noise of the joints, times the signer's own"},
           {.name = "missing",
            .value = 0.03,
            .low = 0,
            .high = 1,
            .summary = "share of a hand's frames in which it is not seen"},
           medley::SwitchOption("boxes", true,
                                "coordinates by the signer's body and hands; false: as they are"),
           medley::WordOption("augment", {"none", "spoter", "bdslw"}, "how training's clips are changed"),
           {.name = "strength", .value = 1, .low = 0, .high = 3, .summary = "how much augment changes them"},
           medley::WordOption("order", {"kept", "shuffled"}, "order of the frames; shuffled is a control"),
           medley::PathOption("data", "a CSV file of clips, or a .json or a folder of them; none: made up",
                              false),
           medley::PathOption("validation", "the same, for evaluations alone", false),
           medley::SwitchOption("y_up", false, "whether y grows upwards in the file"),
           medley::SwitchOption("swap_hands", true, "of .json: its hands are named as in a mirror"),
           {.name = "held_out",
            .value = 4,
            .low = 0,
            .high = 1e6,
            .summary = "without validation, signers kept for evaluations: a share below 1, or so many"}}});

  // A file's labels; of made-up clips those that WriteClips gives them.
  static std::vector<std::string> Classes(const medley::TaskOptions& options) {
    if (!options.Path("data").empty()) return ClassesOfFile(options);
    std::vector<std::string> names;
    for (std::int64_t label = 1; label <= kSigns; ++label) names.push_back(std::to_string(label));
    return names;
  }

  explicit Signs(const medley::TaskContext& context)
      : ClassifyTask(context, kSpec),
        longest_(static_cast<std::size_t>(context.Option("longest"))),
        boxes_(context.Switch("boxes")),
        is_from_file_(!context.Path("data").empty()),
        shuffles_(context.Word("order") == "shuffled"),
        strength_(context.Option("strength")),
        form_(FormOf(context)),
        augmentation_(context.Word("augment") == "spoter"  ? Augmentation::kSpoter
                      : context.Word("augment") == "bdslw" ? Augmentation::kBdslw
                                                           : Augmentation::kNone) {
    if (context.model().Integer("longest") < static_cast<std::int64_t>(longest_))
      throw medley::InputError("clips are up to " + std::to_string(longest_) +
                               " frames long, the model knows " +
                               std::to_string(context.model().Integer("longest")) +
                               "; lower the option longest, or raise the model's \"longest\"");
    if (is_from_file_) {
      source_ = std::make_unique<FileClips>(context);
    } else if (context.Path("validation").empty()) {
      source_ = std::make_unique<MadeUpClips>(context);
    } else {
      throw medley::InputError("the option validation wants the option data, the file that is trained on");
    }
  }

 private:
  medley::Classified Draw(medley::Row& row) const override {
    Clip clip = source_->Draw(row);
    if (!row.is_held_out()) Augment(clip, augmentation_, strength_, row.random);
    if (shuffles_) Shuffle(clip.frames, row.random);
    if (row.longest()) clip.frames.resize(longest_, clip.frames.back());
    const std::int64_t label = clip.label;
    return {.inputs = InputsOf(std::move(clip)), .label = label};
  }
  std::string ShownFiles() const override {
    return "a clip: a .csv file of clips with --row N, or a .json file of landmarks";
  }
  std::vector<at::Tensor> Shown(const std::filesystem::path& file, std::int64_t row) const override {
    return InputsOf(ReadClip(file, row, form_));
  }
  std::vector<at::Tensor> InputsOf(Clip clip) const {
    if (clip.frames.size() > longest_) clip.frames.resize(longest_);
    if (boxes_) PutIntoBoxes(clip);
    at::Tensor poses = at::zeros({static_cast<std::int64_t>(longest_), kFeatures});
    auto* value = poses.mutable_data_ptr<float>();
    for (const Frame& frame : clip.frames) {
      for (const Point& point : frame) {
        *value++ = static_cast<float>(point.x);
        *value++ = static_cast<float>(point.y);
      }
    }
    return {poses, at::scalar_tensor(std::ssize(clip.frames), at::kLong)};
  }
  const medley::ItemStream* Items() const override { return source_->Items(); }
  std::vector<std::int64_t> TrainingCounts() const override { return source_->TrainingCounts(); }
  std::string NameOf(std::int64_t label) const override {
    if (is_from_file_) return ClassifyTask::NameOf(label);
    static constexpr const char* kNames[] = {"up", "down", "circle", "circle back", "saw", "saw back"};
    static constexpr const char* kWhere[] = {"forehead", "chin", "chest", "left", "right"};
    const Sign sign = SignOf(label);
    return std::string(kNames[sign.movement]) + ", " + kWhere[sign.place] + ", " +
           (sign.handshape == 0 ? "flat" : "pointing");
  }
  std::map<std::string, double> Marks(std::int64_t said, std::int64_t right) const override {
    if (is_from_file_) return {};
    const Sign a = SignOf(said), b = SignOf(right);
    return {{"movement", a.movement == b.movement ? 1.0 : 0.0},
            {"place", a.place == b.place ? 1.0 : 0.0},
            {"handshape", a.handshape == b.handshape ? 1.0 : 0.0}};
  }

  static void Shuffle(std::vector<Frame>& frames, medley::RowRandom& random) {
    for (std::size_t left = frames.size(); left > 1; --left)
      std::swap(frames[left - 1],
                frames[static_cast<std::size_t>(random.Below(static_cast<std::int64_t>(left)))]);
  }

  std::size_t longest_;
  bool boxes_, is_from_file_, shuffles_;
  double strength_;
  ClipForm form_;
  Augmentation augmentation_;
  std::unique_ptr<ClipSource> source_;
};

MEDLEY_PLUGIN(Signs, Spoter, Bdslw)

}  // namespace medley_signs
