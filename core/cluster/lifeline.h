#pragma once

#include <cstdint>
#include <list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/cluster/line.h>

namespace medley {

// A socket that a process of a run holds as long as it lives. The others see by it whether it is gone (the
// kernel answers them, also while the process computes), and leave notes there that it finds when it looks,
// also those of one that is gone by then. It needs no thread, and no store, which is gone with who kept it.
class Lifeline {
 public:
  // An Error where the system gives no socket.
  Lifeline();

  std::int64_t port() const { return PortOf(listening_); }
  // Those that came since, which somebody left who knows the run's key; never waits. Others are no notes.
  std::vector<nlohmann::json> TakeNotes(const std::string& key);

 private:
  struct Caller {
    Descriptor line;
    std::string text;  // of a note that is not whole
  };

  Descriptor listening_;
  std::list<Caller> callers_;
};

// Leaves a note, an object. Nothing happens where nobody is at the other end.
void LeaveNote(const Descriptor& line, const std::string& key, nlohmann::json note);

}  // namespace medley
