#pragma once

#include <string>

namespace medley {

// A terminal's other screen, without a cursor, on which a text is shown anew again and again. Whatever ends
// the process (its end, an error, SIGINT, SIGTERM, SIGHUP, SIGQUIT) or stops it (Ctrl-Z) leaves the terminal
// as it was; where it goes on in the foreground the text is shown again. A signal that asks for an end has
// exit code 130. One at a time; of the process's first thread.
class LiveScreen {
 public:
  LiveScreen();
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  // Its FittedLines. Draws nothing in the background.
  void Show(const std::string& text) const;
  // True: for less time, as the window changed or the process goes on after a stop.
  bool Wait(double seconds) const;
};

// A text's lines as a window has room for: cut where they are longer, and where there are more the last one
// says how many.
std::string FittedLines(const std::string& text, std::size_t columns, std::size_t rows);

}  // namespace medley
