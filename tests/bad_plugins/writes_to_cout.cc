// Talks on standard output wherever it can.
#include <iostream>

#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

[[gnu::constructor]] static void Talk() { std::cout << "chatter at load" << std::endl; }

struct WritesToCout final : TinyTask {
  static constexpr TaskSpec kSpec = TinySpec("writes_to_cout");
  static std::vector<std::string> Texts() {
    std::cout << "chatter of texts" << std::endl;
    return {};
  }
  explicit WritesToCout(const TaskContext& context) : TinyTask(context) {
    std::cout << "chatter while made" << std::endl;
  }
  Batch Sample(const RowRange& rows) const override {
    std::cout << "chatter of rows" << std::endl;
    return TinyTask::Sample(rows);
  }
};

MEDLEY_PLUGIN(WritesToCout)

}  // namespace medley::testing
