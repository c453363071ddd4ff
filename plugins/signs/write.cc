// Writes made-up clips as CSV, as many of each sign, of training's signers or of those that it never sees:
//   signs_write FILE CLIPS_OF_A_SIGN SHORTEST LONGEST training|unseen SCALE
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "pose/clip_csv.h"
#include "pose/generator.h"

namespace medley_signs {
namespace {

int Run(const std::vector<std::string>& arguments) {
  const bool is_unseen = arguments.size() == 6 && arguments[4] == "unseen";
  if (arguments.size() != 6 || (!is_unseen && arguments[4] != "training")) {
    std::cerr << "usage: signs_write FILE CLIPS_OF_A_SIGN SHORTEST LONGEST training|unseen SCALE\n";
    return 2;
  }
  const auto number = [&](std::size_t at) { return std::atoll(arguments[at].c_str()); };
  const SignSetting setting{
      .shortest = number(2), .longest = number(3), .scale = std::atof(arguments[5].c_str())};
  if (number(1) < 1 || setting.shortest < 1 || setting.longest < setting.shortest || setting.scale <= 0) {
    std::cerr << "signs_write: expected at least 1 clip of a sign, 1 <= SHORTEST <= LONGEST, SCALE above 0\n";
    return 2;
  }
  try {
    std::vector<Clip> clips;
    for (std::int64_t row = 0; row < number(1) * kSigns; ++row) {
      const medley::RowRange range{.seed = 1, .begin = row, .count = 1};
      clips.push_back(MakeClip(SignOfRow(row, setting), setting,
                               is_unseen ? medley::Split::kHeldOut : medley::Split::kTraining,
                               range.Random(row)));
    }
    WriteClips(arguments[0], clips);
  } catch (const std::exception& error) {
    std::cerr << "signs_write: " << error.what() << '\n';
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace medley_signs

int main(int argc, char** argv) { return medley_signs::Run({argv + 1, argv + argc}); }
