// Drawing by WebGL2. Samples are on the GPU as they came, 8 or 16 bits or float, and are fetched one by one: what is on
// the screen at 1:1 is the sample, not a mixture of its neighbours.

/** @typedef {import("./types.js").Piece} Piece */
/** @typedef {import("./types.js").Area} Area */
/** @typedef {import("./types.js").Operation} Operation */

const VERTEX = `#version 300 es
uniform vec4 box;
uniform vec2 size;
void main() {
  vec2 at = mix(box.xy, box.zw, vec2(gl_VertexID & 1, gl_VertexID >> 1));
  gl_Position = vec4(at / size * vec2(2.0, -2.0) + vec2(-1.0, 1.0), 0.0, 1.0);
}`;

// A place is where a piece begins, in device pixels, and device pixels for each of its samples. What a drawing does not
// need is left out of its program: where a processor draws, that is the difference between smooth and not.
const FRAGMENT = `
precision highp float;
precision highp int;
uniform vec2 size;
uniform highp FIRST first;
uniform vec3 firstPlace;
uniform float firstScale;
#ifdef PAIR
uniform highp SECOND second;
uniform vec3 secondPlace;
uniform float secondScale;
uniform float gain;
#endif
#ifdef TONE
uniform float light, bend;
#endif
out vec4 colour;

#ifdef SMOOTH
#define LOOK(NAME, TEXTURE) vec3 NAME(vec3 place, float scale, vec2 at) { \
  vec2 p = (at - place.xy) / place.z - 0.5; \
  vec2 corner = floor(p), part = p - corner; \
  ivec2 last = textureSize(TEXTURE, 0) - 1; \
  ivec2 a = clamp(ivec2(corner), ivec2(0), last), b = clamp(ivec2(corner) + 1, ivec2(0), last); \
  vec3 top = mix(vec3(texelFetch(TEXTURE, a, 0).rgb), vec3(texelFetch(TEXTURE, ivec2(b.x, a.y), 0).rgb), part.x); \
  vec3 bottom = mix(vec3(texelFetch(TEXTURE, ivec2(a.x, b.y), 0).rgb), vec3(texelFetch(TEXTURE, b, 0).rgb), part.x); \
  return mix(top, bottom, part.y) * scale; \
}
#else
#define LOOK(NAME, TEXTURE) vec3 NAME(vec3 place, float scale, vec2 at) { \
  ivec2 p = clamp(ivec2((at - place.xy) / place.z), ivec2(0), textureSize(TEXTURE, 0) - 1); \
  return vec3(texelFetch(TEXTURE, p, 0).rgb) * scale; \
}
#endif
LOOK(lookFirst, first)
#ifdef PAIR
LOOK(lookSecond, second)
#endif

vec3 heat(float t) {
  t = clamp(t, 0.0, 1.0);
  return clamp(vec3(t * 1.9, t * 1.7 - 0.55, sin(t * 3.6) * 0.5 + max(0.0, t * 4.0 - 2.6)), 0.0, 1.0);
}

void main() {
  vec2 at = vec2(gl_FragCoord.x, size.y - gl_FragCoord.y);
  vec3 value = lookFirst(firstPlace, firstScale, at);
#ifdef GREY
  value = value.rrr;
#endif
#ifdef PAIR
  vec3 other = lookSecond(secondPlace, secondScale, at);
#ifdef SECOND_GREY
  other = other.rrr;
#endif
  vec3 gap = value - other;
  value = PAIR == 1 ? abs(gap) * gain : PAIR == 2 ? 0.5 + gap * gain : heat(dot(abs(gap), vec3(1.0 / 3.0)) * gain);
#else
#ifdef REAL
  if (any(isnan(value))) { colour = vec4(1.0, 0.0, 1.0, 1.0); return; }
#endif
#ifdef TONE
  value = pow(max(value * light, 0.0), vec3(bend));
#endif
#endif
  colour = vec4(value, 1.0);
}`;

/** @type {Record<Operation, number>} */
const OPERATIONS = { show: 0, difference: 1, removed: 2, error: 3 };

/** @param {HTMLCanvasElement} canvas */
export function painter(canvas) {
  const context = canvas.getContext("webgl2", {
    alpha: false,
    antialias: false,
    depth: false,
    powerPreference: "high-performance",
  });
  if (!context) throw new Error("this browser has no WebGL2, which quell studio needs to show samples as they are");
  const gl = context;
  /** @typedef {{program: WebGLProgram, at: Record<string, WebGLUniformLocation | null>}} Program */
  /** @type {Map<string, Program>} */
  const programs = new Map();
  /** @type {Program | null} */
  let used = null;
  let look = { gain: 1, exposure: 0, gamma: 1 };

  /** @param {number} kind @param {string} source */
  function shader(kind, source) {
    const made = gl.createShader(kind);
    if (!made) throw new Error("WebGL2 was lost");
    gl.shaderSource(made, source);
    gl.compileShader(made);
    if (!gl.getShaderParameter(made, gl.COMPILE_STATUS) && !gl.isContextLost())
      throw new Error(gl.getShaderInfoLog(made) ?? "shader");
    return made;
  }

  /** The program with these lines before it. @param {string} defines @returns {Program} */
  function program(defines) {
    const known = programs.get(defines);
    if (known) return known;
    const program = gl.createProgram();
    gl.attachShader(program, shader(gl.VERTEX_SHADER, VERTEX));
    gl.attachShader(program, shader(gl.FRAGMENT_SHADER, `#version 300 es\n${defines}${FRAGMENT}`));
    gl.linkProgram(program);
    gl.useProgram(program);
    /** @type {Program["at"]} */
    const at = {};
    for (const name of [
      "box",
      "size",
      "first",
      "second",
      "firstPlace",
      "secondPlace",
      "firstScale",
      "secondScale",
      "gain",
      "light",
      "bend",
    ]) {
      at[name] = gl.getUniformLocation(program, name);
    }
    gl.uniform1i(at.first, 0);
    gl.uniform1i(at.second, 1);
    const made = { program, at };
    programs.set(defines, made);
    used = null;
    return made;
  }

  /** Takes the program of a drawing. @param {Operation} operation @param {Piece} first @param {Piece | null} second @param {number} zoom */
  function take(operation, first, second, zoom) {
    const sampler = (/** @type {Piece} */ piece) => (piece.samples === "u16" ? "usampler2D" : "sampler2D");
    let defines = `#define FIRST ${sampler(first)}\n`;
    if (first.channels < 3) defines += "#define GREY\n";
    if (first.samples === "f32") defines += "#define REAL\n";
    if (zoom * 2 ** first.level < 1) defines += "#define SMOOTH\n";
    if (second) {
      defines += `#define PAIR ${OPERATIONS[operation]}\n#define SECOND ${sampler(second)}\n`;
      if (second.channels < 3) defines += "#define SECOND_GREY\n";
    } else if (look.exposure !== 0 || look.gamma !== 1) defines += "#define TONE\n";
    const made = program(defines);
    if (made !== used) {
      gl.useProgram(made.program);
      gl.uniform2f(made.at.size, canvas.width, canvas.height);
      gl.uniform1f(made.at.gain, look.gain);
      gl.uniform1f(made.at.light, 2 ** look.exposure);
      gl.uniform1f(made.at.bend, 1 / look.gamma);
      used = made;
    }
    return made.at;
  }

  function prepare() {
    programs.clear();
    used = null;
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
  }

  /** @param {number} inside @param {number} width @param {number} height @param {number} format @param {number} type @param {ArrayBufferView} data */
  function texture(inside, width, height, format, type, data) {
    const made = gl.createTexture();
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, made);
    gl.texImage2D(gl.TEXTURE_2D, 0, inside, width, height, 0, format, type, data);
    for (const [name, value] of [
      [gl.TEXTURE_MIN_FILTER, gl.NEAREST],
      [gl.TEXTURE_MAG_FILTER, gl.NEAREST],
      [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE],
      [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE],
    ]) {
      gl.texParameteri(gl.TEXTURE_2D, name, value);
    }
    return made;
  }

  /** @param {Piece} piece */
  function send(piece) {
    const colour = piece.channels > 1;
    const { width, height, data } = piece;
    if (piece.samples === "u8") {
      return texture(colour ? gl.RGB8 : gl.R8, width, height, colour ? gl.RGB : gl.RED, gl.UNSIGNED_BYTE, data);
    }
    if (piece.samples === "u16") {
      const format = colour ? gl.RGB_INTEGER : gl.RED_INTEGER;
      return texture(colour ? gl.RGB16UI : gl.R16UI, width, height, format, gl.UNSIGNED_SHORT, data);
    }
    return texture(colour ? gl.RGB32F : gl.R32F, width, height, colour ? gl.RGB : gl.RED, gl.FLOAT, data);
  }

  /**
   * @param {Program["at"]} at
   * @param {Piece} piece
   * @param {"first" | "second"} name
   * @param {[number, number]} corner
   * @param {number} zoom
   */
  function bind(at, piece, name, corner, zoom) {
    gl.activeTexture(name === "first" ? gl.TEXTURE0 : gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, piece.texture);
    gl.uniform3f(
      at[`${name}Place`],
      corner[0] + piece.area.x0 * zoom,
      corner[1] + piece.area.y0 * zoom,
      zoom * 2 ** piece.level,
    );
    // Textures of bytes are fetched as 0 to 1, the others as they are stored.
    gl.uniform1f(at[`${name}Scale`], (piece.samples === "u8" ? 255 : 1) / piece.white);
  }

  prepare();
  /** @type {(() => void)[]} */
  const whenBack = [];
  canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
  canvas.addEventListener("webglcontextrestored", () => {
    prepare();
    for (const listener of whenBack) listener();
  });

  return {
    lost: () => gl.isContextLost(),

    /** @param {() => void} listener textures are gone and are to be sent again */
    onBack(listener) {
      whenBack.push(listener);
    },

    /** @param {[number, number, number]} grey @param {{gain: number, exposure: number, gamma: number}} how */
    begin(grey, how) {
      look = { gain: how.gain, exposure: how.exposure, gamma: how.gamma };
      used = null;
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.disable(gl.SCISSOR_TEST);
      gl.clearColor(grey[0], grey[1], grey[2], 1);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.enable(gl.SCISSOR_TEST);
    },

    /** @param {Area} area device pixels that may be drawn on */
    clip(area) {
      gl.scissor(area.x0, canvas.height - area.y1, Math.max(0, area.x1 - area.x0), Math.max(0, area.y1 - area.y0));
    },

    /**
     * @param {Operation} operation
     * @param {Area} area of the picture
     * @param {[number, number]} corner of the picture, in device pixels
     * @param {number} zoom
     * @param {Piece} first
     * @param {Piece | null} second
     */
    draw(operation, area, corner, zoom, first, second) {
      // Sending binds, so both are sent before either is bound.
      first.texture ??= send(first);
      if (second) second.texture ??= send(second);
      const at = take(operation, first, second, zoom);
      bind(at, first, "first", corner, zoom);
      if (second) bind(at, second, "second", corner, zoom);
      // Edges between pieces are rounded alike, so that no gap is left between two.
      gl.uniform4f(
        at.box,
        Math.round(corner[0] + area.x0 * zoom),
        Math.round(corner[1] + area.y0 * zoom),
        Math.round(corner[0] + area.x1 * zoom),
        Math.round(corner[1] + area.y1 * zoom),
      );
      gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    },

    /** @param {Piece} piece */
    drop(piece) {
      if (piece.texture) gl.deleteTexture(piece.texture);
      piece.texture = null;
    },
  };
}
