#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace medley {

struct PageRequest {
  std::vector<std::filesystem::path> runs{};  // the first is the page's, the others are shown beside it
  int refresh_seconds = 0;  // the page loads itself anew while its first run is not over; 0: it does not
};

struct RunPage {
  std::string text;                   // one page of HTML with all that it needs in it
  bool is_over = false;               // the first run's last step is done
  std::vector<std::string> unlike{};  // why scores of the others are of other rows than the first one's
};
// Throws what RunData and SheetsOf throw.
RunPage MakeRunPage(const PageRequest& request);

}  // namespace medley
