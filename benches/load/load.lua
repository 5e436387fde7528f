-- One request kind a run; credentials rotate so that writes go to many systems.
local kind = os.getenv("BENCH_KIND")
local credentials, n = {}, 0
for line in io.lines(os.getenv("BENCH_CREDENTIALS")) do
  credentials[#credentials + 1] = "Basic " .. line
end
local alert = '[{"labels":{"alertname":"DiskSpaceLow","severity":"warning","mountpoint":"/"},"annotations":{"summary":"disk is filling"}}]'
local document
if kind == "inventory" then
  local f = assert(io.open(os.getenv("BENCH_DOCUMENT"), "rb"))
  document = f:read("*a")
  f:close()
end

-- Built once each: the generator must not be what is measured. Every system sends four documents in turn, so that none
-- equals the one before it.
local made = {}
local rounds = kind == "inventory" and 4 or 1
local function make(i)
  local headers = { ["Authorization"] = credentials[(i - 1) % #credentials + 1] }
  if kind == "heartbeat" then
    return wrk.format("POST", "/collect/api/systems/heartbeat", headers, nil)
  elseif kind == "inventory" then
    headers["Content-Type"] = "application/json"
    local body = document:gsub('"uptime_seconds": %d+', '"uptime_seconds": ' .. tostring(1000000 + i), 1)
    return wrk.format("POST", "/collect/api/systems/inventory", headers, body)
  else
    headers["Content-Type"] = "application/json"
    local path = "/alertmanager/api/v2/alerts"
    if kind == "proxy" then path = "/collect/api/services/mimir/alertmanager/api/v2/alerts" end
    return wrk.format("POST", path, headers, alert)
  end
end

request = function()
  n = n % (#credentials * rounds) + 1
  local one = made[n]
  if not one then
    one = make(n)
    made[n] = one
  end
  return one
end
