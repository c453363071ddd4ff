#pragma once

#include <cstdint>
#include <list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/cluster/line.h>

namespace medley {

// What notes come by. Both ends may leave them, and find those of one that is gone.
struct NoteLine {
  Descriptor line;
  std::string text = {};  // of a note that is not whole
};

// Leaves a note, an object. Nothing happens where nobody is at the other end.
void LeaveNote(const Descriptor& line, const std::string& key, nlohmann::json note);
// Appends those that came since, which somebody left who knows the run's key; others are no notes. Never
// waits. False where no more can come.
bool TakeNotes(NoteLine& line, const std::string& key, std::vector<nlohmann::json>& notes);

// A socket that a process of a run holds as long as it lives. The others see by it whether it is gone (the
// kernel answers them, also while the process computes), and leave notes there that it finds when it looks.
// It needs no thread, and no store, which is gone with who kept it.
class Lifeline {
 public:
  // An Error where the system gives no socket.
  Lifeline();

  std::int64_t port() const { return PortOf(listening_); }
  // Of all who called.
  std::vector<nlohmann::json> TakeNotes(const std::string& key);
  // For each who called, also where nothing else is known of it.
  void LeaveNotes(const std::string& key, const nlohmann::json& note);

 private:
  void AcceptAll();

  Descriptor listening_;
  std::list<NoteLine> callers_;
};

}  // namespace medley
