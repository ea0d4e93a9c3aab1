#include "tests/visualise/browser.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "tests/support/run_cli.h"

namespace fovea::test {
namespace {

using Json = nlohmann::json;

// The browser's program; empty if there is none.
std::string find_browser() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
      const auto program = std::filesystem::path(folder) / name;
      if (std::filesystem::exists(program)) return program.string();
    }
  }
  return "";
}

// A browser that speaks the DevTools protocol over pipes: JSON messages, each ended by a zero byte;
// it reads them from its file 3 and writes them to its file 4.
class Browser {
 public:
  explicit Browser(const std::filesystem::path& profile) {
    std::vector<std::string> words = {find_browser(),
                                      "--headless",
                                      "--no-sandbox",
                                      "--disable-gpu",
                                      "--disable-dev-shm-usage",
                                      "--remote-debugging-pipe",
                                      "--user-data-dir=" + profile.string(),
                                      "about:blank"};
    std::array<int, 2> to{}, from{};
    if (::pipe2(to.data(), O_CLOEXEC) != 0 || ::pipe2(from.data(), O_CLOEXEC) != 0) {
      throw std::runtime_error("browser: no pipes");
    }
    child_ = ::fork();
    if (child_ == 0) {
      ::setpgid(0, 0);
      // Copies above 4 first, so that neither pipe is closed by the other's place.
      const int in = ::fcntl(to[0], F_DUPFD, 10), out = ::fcntl(from[1], F_DUPFD, 10);
      ::dup2(in, 3);
      ::dup2(out, 4);
      const int silence = ::open("/dev/null", O_RDWR);
      for (const int file : {0, 1, 2}) ::dup2(silence, file);
      std::vector<char*> argv;
      for (std::string& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(to[0]);
    ::close(from[1]);
    to_ = to[1];
    from_ = from[0];
  }

  ~Browser() {
    // Asked to close it cleans up behind itself; its helpers are in its process group.
    const std::string close = "{\"id\":0,\"method\":\"Browser.close\"}";
    const bool asked = ::write(to_, close.c_str(), close.size() + 1) > 0;
    pollfd end{from_, POLLIN, 0};
    for (char byte = 0; asked && ::poll(&end, 1, 3000) == 1 && ::read(from_, &byte, 1) > 0;) {
    }
    ::kill(-child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    ::close(to_);
    ::close(from_);
  }
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  int send(const std::string& method, const Json& params = Json::object(),
           const std::string& session = "") {
    Json message = {{"id", ++last_id_}, {"method", method}, {"params", params}};
    if (!session.empty()) message["sessionId"] = session;
    const std::string text = message.dump() + '\0';
    for (std::size_t done = 0; done < text.size();) {
      const auto written = ::write(to_, text.data() + done, text.size() - done);
      if (written <= 0) throw std::runtime_error("browser: it has gone");
      done += static_cast<std::size_t>(written);
    }
    return last_id_;
  }

  // The next message; throws when nothing comes for half a minute.
  Json next() {
    std::size_t end = 0;
    while ((end = buffer_.find('\0')) == std::string::npos) {
      pollfd ready{from_, POLLIN, 0};
      std::array<char, 65536> chunk;
      const auto bytes =
          ::poll(&ready, 1, 30000) == 1 ? ::read(from_, chunk.data(), chunk.size()) : 0;
      if (bytes <= 0) throw std::runtime_error("browser: no answer");
      buffer_.append(chunk.data(), static_cast<std::size_t>(bytes));
    }
    Json message = Json::parse(buffer_.substr(0, end));
    buffer_.erase(0, end + 1);
    return message;
  }

  // Sends, and passes all that comes before the answer to `listen`.
  template <class Listen>
  Json call(const std::string& method, const Json& params, const std::string& session,
            Listen listen) {
    const int id = send(method, params, session);
    while (true) {
      const Json message = next();
      if (message.value("id", 0) == id) return message.value("result", message);
      listen(message);
    }
  }

 private:
  pid_t child_ = -1;
  int to_ = -1, from_ = -1;
  int last_id_ = 0;
  std::string buffer_;
};

// One browser for all tests, from the first visit to the end of the program.
Browser& shared_browser() {
  static const TestFolder profile("browser-profile");
  static Browser browser(profile.path());
  return browser;
}

constexpr const char* kHelpers = R"js(
const panel = (k) => Array.from(document.querySelectorAll('.panel')).filter((p) => p.querySelector('.picker'))[k];
const tokens = (k) => Array.from(panel(k).querySelectorAll('.view .token'));
const button = (text) => Array.from(document.querySelectorAll('button')).find((b) => b.textContent === text);
const frame = () => new Promise((done) => requestAnimationFrame(done));
const settle = async () => { await frame(); await frame(); };
const ready = (sample) => new Promise((done) => {
  const check = () => document.body.dataset.ready === String(sample) && done();
  new MutationObserver(check).observe(document.body, {attributes: true});
  check();
});
// With `at`, only an event there counts: scrolling makes the browser repeat the mouse's last place.
const arrives = (type, at) => new Promise((done) => {
  const check = (event) => {
    if (at && Math.hypot(event.clientX - at.x, event.clientY - at.y) > 1.5) return;
    removeEventListener(type, check, true);
    done();
  };
  addEventListener(type, check, true);
});
const input = (method, params) => testInput(JSON.stringify({method: `Input.${method}`, params}));
const place = async (element, x = 0.5, y = 0.5) => {
  element.scrollIntoView({block: 'center'});
  await settle();
  const box = element.getBoundingClientRect();
  return {x: box.left + x * box.width, y: box.top + y * box.height};
};
const hover = async (element, x, y) => {
  const at = await place(element, x, y);
  const moved = arrives('pointermove', at);
  input('dispatchMouseEvent', {type: 'mouseMoved', ...at});
  await moved;
  await settle();
};
const click = async (element, x, y) => {
  const at = await place(element, x, y);
  const clicked = arrives('click');
  input('dispatchMouseEvent', {type: 'mouseMoved', ...at});
  for (const type of ['mousePressed', 'mouseReleased']) {
    input('dispatchMouseEvent', {type, button: 'left', clickCount: 1, ...at});
  }
  await clicked;
  await settle();
};
const leave = async () => {
  const moved = arrives('pointermove', {x: 1, y: 1});
  input('dispatchMouseEvent', {type: 'mouseMoved', x: 1, y: 1});
  await moved;
  await settle();
};
const zoomWheel = async (element, x, y, deltaY, modifiers = 2) => {  // with Ctrl
  const at = await place(element, x, y);
  const turned = arrives('wheel');
  input('dispatchMouseEvent', {type: 'mouseWheel', ...at, deltaX: 0, deltaY, modifiers});
  await turned;
  await settle();
};
const drag = async (element, from, to) => {
  const begin = await place(element, ...from), box = element.getBoundingClientRect();
  const end = {x: box.left + to[0] * box.width, y: box.top + to[1] * box.height};
  const released = arrives('pointerup');
  input('dispatchMouseEvent', {type: 'mouseMoved', ...begin});
  input('dispatchMouseEvent', {type: 'mousePressed', button: 'left', buttons: 1, clickCount: 1, ...begin});
  input('dispatchMouseEvent', {type: 'mouseMoved', button: 'left', buttons: 1, ...end});
  input('dispatchMouseEvent', {type: 'mouseReleased', button: 'left', clickCount: 1, ...end});
  await released;
  await settle();
};
const press = async (key) => {
  const pressed = arrives('keydown');
  for (const type of ['keyDown', 'keyUp']) input('dispatchKeyEvent', {type, key});
  await pressed;
  await settle();
};
// Signed weights get darker on the red side, others lighter.
const strength = (span, k) => {
  const [red, green, blue] = span.style.backgroundColor.match(/\d+/g).map(Number);
  if (!panel(k).querySelector('.quantity').textContent.startsWith('signed')) return red + green + blue;
  return red >= blue ? 255 - green : 0;
};
const strongest = (k) => tokens(k).reduce((best, span, i, all) => strength(span, k) > strength(all[best], k) ? i : best, 0);
await ready(0);
)js";

// Text of a console message or of an uncaught error; empty for other messages of the protocol.
std::string said(const Json& message) {
  const std::string method = message.value("method", "");
  if (method != "Runtime.consoleAPICalled" && method != "Runtime.exceptionThrown" &&
      method != "Log.entryAdded") {
    return "";
  }
  return message["params"].dump() + "\n";
}

}  // namespace

bool have_browser() {
  if (!find_browser().empty()) return true;
  constexpr const char* kMissing = "no chromium found (apt-get install chromium)";
  // Where browser tests are meant to run, none may be left out quietly.
  if (std::getenv("FOVEA_TEST_BROWSER") != nullptr) FAIL(kMissing);
  WARN("skipped: " << kMissing);
  return false;
}

Visit visit(const std::string& page, const std::string& script, const std::string& hash) {
  const TestFolder folder("browser");
  const std::string url = "file://" + folder.write("page.html", page) + hash;
  Browser& browser = shared_browser();
  Visit visit;
  std::string session;
  bool loaded = false;
  const auto listen = [&](const Json& message) {
    visit.console += said(message);
    const std::string method = message.value("method", "");
    if (method == "Page.loadEventFired") loaded = true;
    if (method == "Runtime.bindingCalled") {
      const Json asked = Json::parse(message["params"]["payload"].get<std::string>());
      browser.send(asked["method"], asked["params"], session);
    }
  };
  const auto call = [&](const std::string& method, const Json& params = Json::object()) {
    return browser.call(method, params, session, listen);
  };
  const Json target = call("Target.createTarget", {{"url", "about:blank"}});
  session =
      browser.call("Target.attachToTarget", {{"targetId", target["targetId"]}, {"flatten", true}},
                   "", listen)["sessionId"];
  for (const char* domain : {"Runtime", "Log", "Page"}) call(std::string(domain) + ".enable");
  call("Emulation.setDeviceMetricsOverride",
       {{"width", 1200}, {"height", 900}, {"deviceScaleFactor", 1}, {"mobile", false}});
  call("Runtime.addBinding", {{"name", "testInput"}});
  call("Page.navigate", {{"url", url}});
  while (!loaded) listen(browser.next());
  const std::string expression = "(async () => {" + std::string(kHelpers) + script + "})()";
  const Json answer =
      call("Runtime.evaluate",
           {{"expression", expression}, {"awaitPromise", true}, {"returnByValue", true}});
  if (answer.contains("exceptionDetails")) visit.console += answer["exceptionDetails"].dump();
  visit.report = answer["result"].value("value", Json());
  session.clear();
  call("Target.closeTarget", {{"targetId", target["targetId"]}});
  return visit;
}

}  // namespace fovea::test
