// Says why nothing works where the server refused this page's modules. No module itself, and so
// asked for without an Origin, which is what the others are refused by: a proxy that gives the
// server another Host than the browser sees makes the page's own origin a foreign one.

document.getElementById("main").addEventListener("error", () => {
  const line = document.getElementById("refused");
  line.textContent = `The server refused this page's scripts. Behind a proxy that changes the Host header, start it ` +
    `with --allow-origin ${location.origin}; where the proxy passes Host on, with --allow-host ${location.hostname}.`;
  line.hidden = false;
  document.getElementById("model").textContent = "";
});
