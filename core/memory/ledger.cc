#include <medley/memory/ledger.h>

#include <utility>

#include <medley/base/bytes.h>

namespace medley {

std::int64_t MemoryLedger::constant_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& [task, own] : constants) bytes += own;
  return bytes;
}

std::int64_t MemoryLedger::total() const {
  return weights + gradients + optimizer + constant_bytes() + inputs + activations + workspace + unused;
}

std::string MemoryLedger::Words() const {
  std::string text;
  for (const auto& [name, bytes] :
       {std::pair{"weights", weights}, std::pair{"gradients", gradients}, std::pair{"optimizer", optimizer},
        std::pair{"constants", constant_bytes()}, std::pair{"inputs", inputs},
        std::pair{"activations", activations}, std::pair{"workspace", workspace},
        std::pair{"unused", unused}}) {
    if (bytes != 0) text += (text.empty() ? "" : ", ") + std::string(name) + " " + FormatBytes(bytes);
  }
  return text.empty() ? "nothing" : text;
}

nlohmann::ordered_json ToJson(const MemoryLedger& ledger) {
  return {
      {"total", ledger.total()},           {"weights", ledger.weights},     {"gradients", ledger.gradients},
      {"optimizer", ledger.optimizer},     {"constants", ledger.constants}, {"inputs", ledger.inputs},
      {"activations", ledger.activations}, {"workspace", ledger.workspace}, {"unused", ledger.unused}};
}

}  // namespace medley
