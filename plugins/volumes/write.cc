// Writes the first made-up conversations of each kind as JSON Lines, with their scans beside them:
//   volumes_write FOLDER [ROWS]
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "data/conversation_file.h"
#include "data/examples.h"

namespace medley_volumes {
namespace {

constexpr Geometry kGeometry{.volume_side = 24, .series_side = 12, .frames = 12};  // of configs/small.json

template <typename Make>
void Write(const std::string& folder, const std::string& name, std::int64_t rows, const Make& make) {
  std::vector<Conversation> conversations;
  medley::ForEachRow({.seed = 1, .begin = 0, .count = rows},
                     [&](medley::Row& row) { conversations.push_back(make(row)); });
  std::cout << WriteConversations(folder, name, conversations).string() << '\n';
}

int Run(int argc, char** argv) {
  const std::int64_t rows = argc == 3 ? std::atoll(argv[2]) : 64;
  if (argc < 2 || argc > 3 || rows < 1) {
    std::cerr << "usage: volumes_write FOLDER [ROWS]\n";
    return 2;
  }
  try {
    Write(argv[1], "single", rows, [](medley::Row& row) { return SingleExample(row, kGeometry); });
    Write(argv[1], "multimodal", rows,
          [](medley::Row& row) { return MultimodalExample(row, kGeometry, 0.5); });
    Write(argv[1], "compare", rows,
          [](medley::Row& row) { return CompareExample(row, kGeometry, 3, false); });
  } catch (const std::exception& error) {
    std::cerr << "volumes_write: " << error.what() << '\n';
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace medley_volumes

int main(int argc, char** argv) { return medley_volumes::Run(argc, argv); }
