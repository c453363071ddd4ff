#include <medley/report/memory_ledger.h>

#include <medley/base/bytes.h>

namespace medley {
namespace {

struct Purpose {
  const char* name;
  std::int64_t MemoryLedger::*bytes;
};

constexpr Purpose kPurposes[] = {
    {"parameters", &MemoryLedger::weights},      {"gradients", &MemoryLedger::gradients},
    {"optimizer", &MemoryLedger::optimizer},     {"references", &MemoryLedger::references},
    {"constants", &MemoryLedger::constants},     {"inputs", &MemoryLedger::inputs},
    {"activations", &MemoryLedger::activations}, {"prefix", &MemoryLedger::prefix},
    {"logits", &MemoryLedger::logits},           {"working", &MemoryLedger::working},
    {"workspace", &MemoryLedger::workspace},     {"unused", &MemoryLedger::unused}};

}  // namespace

std::int64_t MemoryLedger::total() const {
  std::int64_t total = 0;
  for (const Purpose& purpose : kPurposes) total += this->*purpose.bytes;
  return total;
}

std::string MemoryLedger::Words() const {
  std::string text;
  for (const auto& [name, member] : kPurposes) {
    const std::int64_t bytes = this->*member;
    if (bytes != 0) text += (text.empty() ? "" : ", ") + std::string(name) + " " + FormatBytes(bytes);
  }
  return text.empty() ? "nothing" : text;
}

nlohmann::ordered_json ToJson(const MemoryLedger& ledger,
                              const std::map<std::string, std::int64_t>& constants) {
  nlohmann::ordered_json json = {{"total", ledger.total()},
                                 {"weights", ledger.weights},
                                 {"gradients", ledger.gradients},
                                 {"optimizer", ledger.optimizer}};
  if (ledger.references > 0) json["references"] = ledger.references;
  const nlohmann::ordered_json rest = {{"constants", constants},
                                       {"inputs", ledger.inputs},
                                       {"activations", ledger.activations},
                                       {"workspace", ledger.workspace},
                                       {"unused", ledger.unused}};
  json.update(rest);
  return json;
}

}  // namespace medley
