-- What scripts written for wrk find: the table `wrk` with its functions, and objects for addresses,
-- threads and statistics. The functions in `given` are the program's. They raise no errors: what
-- they refuse comes back as nil and the reason, and is raised here.

local given = ...
local globals = _G
local rawget, type, tostring, tonumber, error = rawget, type, tostring, tonumber, error
local pairs, ipairs, newproxy, getmetatable = pairs, ipairs, newproxy, getmetatable
local concat, length, find, sub = table.concat, string.len, string.find, string.sub
local gmatch, floor, stdout = string.gmatch, math.floor, io.stdout

-- Modules in C cannot be loaded.
package.loadlib = nil

local wrk = {
   scheme  = given.scheme,
   host    = given.host,
   port    = given.port,
   method  = "GET",
   path    = given.path,
   headers = {},
}
for _, field in ipairs(given.headers) do
   wrk.headers[field[1]] = field[2]
end
globals.wrk = wrk
package.loaded.wrk = wrk

local function global(name)
   local value = rawget(globals, name)
   return type(value) == "function" and value or nil
end

-- Addresses.

local texts = setmetatable({}, { __mode = "k" })

local function address(text)
   local made = newproxy(true)
   getmetatable(made).__tostring = function() return text end
   texts[made] = text
   return made
end

local function text_of(addr)
   local text = addr ~= nil and texts[addr]
   if not text then
      error("an address of wrk.lookup() is wanted here, and this is a " .. type(addr), 3)
   end
   return text
end

function wrk.lookup(host, service)
   local found, why = given.lookup(host, service)
   if not found then
      error(why, 2)
   end
   for index, text in ipairs(found) do
      found[index] = address(text)
   end
   return found
end

function wrk.connect(addr)
   local text = text_of(addr)
   return given.connect(text)
end

function wrk.resolve(host, service)
   local found = {}
   for _, addr in ipairs(wrk.lookup(host, service)) do
      if wrk.connect(addr) then
         found[#found + 1] = addr
      end
   end
   wrk.addrs = found
end

-- Threads.

local function thread_of(index)
   local methods = {}

   function methods.get(_, name)
      local is_done, value = given.get(index, name)
      if not is_done then
         error(value, 2)
      end
      return value
   end

   function methods.set(_, name, value)
      local is_done, why = given.set(index, name, value)
      if not is_done then
         error(why, 2)
      end
   end

   function methods.stop()
      given.stop(index)
   end

   local thread = newproxy(true)
   local meta = getmetatable(thread)

   function meta.__index(_, key)
      if key == "addr" then
         local text = given.address(index)
         return text and address(text)
      end
      return methods[key]
   end

   function meta.__newindex(_, key, value)
      if key ~= "addr" then
         error("cannot set '" .. tostring(key) .. "' on thread", 2)
      end
      given.set_address(index, text_of(value))
   end

   return thread
end

function wrk.setup(thread)
   local setup = global("setup")
   if not setup then
      return
   end
   if not wrk.addrs then
      wrk.resolve(wrk.host, wrk.port or wrk.scheme)
   end
   if #wrk.addrs == 0 then
      error("unable to connect to " .. wrk.host .. ":" .. (wrk.port or wrk.scheme), 0)
   end
   thread.addr = wrk.addrs[1]
   setup(thread)
end

function wrk.init(args)
   local headers = wrk.headers
   if not headers["Host"] then
      local host = wrk.host
      if find(host, ":", 1, true) then
         host = "[" .. host .. "]"
      end
      headers["Host"] = wrk.port and host .. ":" .. wrk.port or host
   end
   local init = global("init")
   if init then
      init(args)
   end
   local fixed = wrk.format()
   function wrk.request()
      return fixed
   end
end

function wrk.format(method, path, headers, body)
   headers = headers or wrk.headers
   body = body or wrk.body
   if not headers["Host"] then
      headers["Host"] = wrk.headers["Host"]
   end
   headers["Content-Length"] = body and length(body) or nil
   local lines = { (method or wrk.method) .. " " .. (path or wrk.path) .. " HTTP/1.1" }
   local count = 1
   for name, value in pairs(headers) do
      count = count + 1
      lines[count] = name .. ": " .. tostring(value)
   end
   lines[count + 1] = ""
   lines[count + 2] = body or ""
   return concat(lines, "\r\n")
end

-- What the program calls. The functions of the script are looked up each time: a script may replace
-- them while it runs.

local ours = {}

function ours.has(name)
   return global(name) ~= nil
end

function ours.attach(index)
   wrk.thread = thread_of(index)
end

function ours.setup(index)
   wrk.setup(thread_of(index))
end

function ours.init(args)
   wrk.init(args)
end

function ours.request()
   local request = global("request") or wrk.request
   local made = request()
   if type(made) == "number" then
      made = tostring(made)
   elseif type(made) ~= "string" then
      error("request() returned " .. type(made) .. " instead of the text of a request", 0)
   end
   return made
end

function ours.response(status, head, body)
   local response = global("response")
   if not response then
      return
   end
   local headers = {}
   local first = find(head, "\n", 1, true) or 0
   for name, value in gmatch(sub(head, first + 1), "([^:\r\n]+):[ \t]*([^\r\n]*)") do
      headers[name] = value
   end
   response(status, headers, body)
end

function ours.delay()
   local delay = global("delay")
   return delay and tonumber(delay()) or 0
end

function ours.flush()
   stdout:flush()
end

local function statistics(told)
   local values, counts = told.values, told.counts
   local fields = { min = told.min, max = told.max, mean = told.mean, stdev = told.stdev }

   function fields.percentile(_, percent)
      local rank = floor(percent / 100 * told.count + 1)
      local seen = 0
      for index, count in ipairs(counts) do
         seen = seen + count
         if seen >= rank then
            return values[index]
         end
      end
      return told.max
   end

   local made = newproxy(true)
   local meta = getmetatable(made)
   function meta.__index(_, key)
      return fields[key]
   end
   function meta.__call(_, index)
      return values[index] or 0, counts[index] or 0
   end
   function meta.__len()
      return #values
   end
   return made
end

function ours.done(summary, latency, requests)
   local done = global("done")
   if done then
      done(summary, statistics(latency), statistics(requests))
   end
end

return ours
