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

// A place is where a piece begins, in device pixels, device pixels for each of its samples, and its channels.
const FRAGMENT = `#version 300 es
precision highp float;
precision highp int;
precision highp sampler2D;
precision highp usampler2D;
uniform vec2 size;
uniform sampler2D firstReal, secondReal;
uniform usampler2D firstWhole, secondWhole;
uniform vec4 firstPlace, secondPlace;
uniform vec2 firstScale, secondScale;
uniform int operation;
uniform float gain, light, bend;
out vec4 colour;

vec3 take(sampler2D real, usampler2D whole, ivec2 at, vec2 scale, float channels) {
  vec3 value = scale.y > 0.5 ? vec3(texelFetch(whole, at, 0).rgb) : texelFetch(real, at, 0).rgb;
  return (channels < 2.0 ? value.rrr : value) * scale.x;
}

vec3 look(sampler2D real, usampler2D whole, vec4 place, vec2 scale, vec2 at) {
  ivec2 last = (scale.y > 0.5 ? textureSize(whole, 0) : textureSize(real, 0)) - 1;
  vec2 p = (at - place.xy) / place.z;
  if (place.z >= 1.0) return take(real, whole, clamp(ivec2(floor(p)), ivec2(0), last), scale, place.w);
  vec2 corner = floor(p - 0.5);
  vec2 part = p - 0.5 - corner;
  ivec2 a = clamp(ivec2(corner), ivec2(0), last), b = clamp(ivec2(corner) + 1, ivec2(0), last);
  vec3 top = mix(take(real, whole, a, scale, place.w), take(real, whole, ivec2(b.x, a.y), scale, place.w), part.x);
  vec3 bottom = mix(take(real, whole, ivec2(a.x, b.y), scale, place.w), take(real, whole, b, scale, place.w), part.x);
  return mix(top, bottom, part.y);
}

vec3 heat(float t) {
  t = clamp(t, 0.0, 1.0);
  return clamp(vec3(t * 2.6 - 0.1, t * 2.4 - 0.85, t < 0.5 ? t * 1.7 : t * 4.0 - 2.9 + (1.0 - t) * 1.6), 0.0, 1.0);
}

void main() {
  vec2 at = vec2(gl_FragCoord.x, size.y - gl_FragCoord.y);
  vec3 first = look(firstReal, firstWhole, firstPlace, firstScale, at);
  vec3 value;
  if (operation == 0) {
    value = pow(max(first * light, 0.0), vec3(bend));
    if (any(isnan(first))) value = vec3(1.0, 0.0, 1.0);
  } else {
    vec3 gap = first - look(secondReal, secondWhole, secondPlace, secondScale, at);
    if (operation == 1) value = abs(gap) * gain;
    else if (operation == 2) value = 0.5 + gap * gain;
    else value = heat((abs(gap.r) + abs(gap.g) + abs(gap.b)) / 3.0 * gain);
  }
  colour = vec4(value, 1.0);
}`;

/** @type {Record<Operation, number>} */
const OPERATIONS = { show: 0, difference: 1, removed: 2, error: 3 };

/** @param {HTMLCanvasElement} canvas */
export function painter(canvas) {
  const context = canvas.getContext("webgl2", { alpha: false, antialias: false, depth: false, powerPreference: "high-performance" });
  if (!context) throw new Error("this browser has no WebGL2, which quell studio needs to show samples as they are");
  const gl = context;
  const most = gl.getParameter(gl.MAX_TEXTURE_SIZE);
  /** @type {Record<string, WebGLUniformLocation | null>} */
  let uniforms = {};
  /** @type {WebGLTexture} */
  let emptyReal;
  /** @type {WebGLTexture} */
  let emptyWhole;

  function prepare() {
    const program = gl.createProgram();
    for (const [kind, source] of /** @type {[number, string][]} */ ([[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]])) {
      const shader = gl.createShader(kind);
      if (!shader) throw new Error("WebGL2 was lost");
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) throw new Error(gl.getShaderInfoLog(shader) ?? "shader");
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    uniforms = {};
    for (const name of ["box", "size", "firstReal", "secondReal", "firstWhole", "secondWhole", "firstPlace", "secondPlace",
      "firstScale", "secondScale", "operation", "gain", "light", "bend"]) {
      uniforms[name] = gl.getUniformLocation(program, name);
    }
    ["firstReal", "firstWhole", "secondReal", "secondWhole"].forEach((name, unit) => gl.uniform1i(uniforms[name], unit));
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    emptyReal = texture(gl.R8, 1, 1, gl.RED, gl.UNSIGNED_BYTE, new Uint8Array(1));
    emptyWhole = texture(gl.R8UI, 1, 1, gl.RED_INTEGER, gl.UNSIGNED_BYTE, new Uint8Array(1));
  }

  /** @param {number} inside @param {number} width @param {number} height @param {number} format @param {number} type @param {ArrayBufferView} data */
  function texture(inside, width, height, format, type, data) {
    const made = gl.createTexture();
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, made);
    gl.texImage2D(gl.TEXTURE_2D, 0, inside, width, height, 0, format, type, data);
    for (const [name, value] of [[gl.TEXTURE_MIN_FILTER, gl.NEAREST], [gl.TEXTURE_MAG_FILTER, gl.NEAREST],
      [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE], [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE]]) {
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

  /** @param {Piece} piece @param {number} unit @param {"first" | "second"} name @param {[number, number]} corner @param {number} zoom */
  function bind(piece, unit, name, corner, zoom) {
    piece.texture ??= send(piece);
    const whole = piece.samples === "u16";
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(gl.TEXTURE_2D, whole ? emptyReal : piece.texture);
    gl.activeTexture(gl.TEXTURE0 + unit + 1);
    gl.bindTexture(gl.TEXTURE_2D, whole ? piece.texture : emptyWhole);
    gl.uniform4f(uniforms[`${name}Place`], corner[0] + piece.area.x0 * zoom, corner[1] + piece.area.y0 * zoom,
      zoom * 2 ** piece.level, piece.channels);
    // Textures of bytes are fetched as 0 to 1, the others as they are stored.
    gl.uniform2f(uniforms[`${name}Scale`], (piece.samples === "u8" ? 255 : 1) / piece.white, whole ? 1 : 0);
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
    /** The longest side of a texture. */
    most,

    /** @param {() => void} listener textures are gone and are to be sent again */
    onBack(listener) {
      whenBack.push(listener);
    },

    /** @param {[number, number, number]} grey @param {{gain: number, exposure: number, gamma: number}} look */
    begin(grey, look) {
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.disable(gl.SCISSOR_TEST);
      gl.clearColor(grey[0], grey[1], grey[2], 1);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.enable(gl.SCISSOR_TEST);
      gl.uniform2f(uniforms.size, canvas.width, canvas.height);
      gl.uniform1f(uniforms.gain, look.gain);
      gl.uniform1f(uniforms.light, 2 ** look.exposure);
      gl.uniform1f(uniforms.bend, 1 / look.gamma);
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
      bind(first, 0, "first", corner, zoom);
      if (second) bind(second, 2, "second", corner, zoom);
      else {
        gl.activeTexture(gl.TEXTURE2);
        gl.bindTexture(gl.TEXTURE_2D, emptyReal);
        gl.activeTexture(gl.TEXTURE3);
        gl.bindTexture(gl.TEXTURE_2D, emptyWhole);
      }
      gl.uniform1i(uniforms.operation, OPERATIONS[operation]);
      // Edges between pieces are rounded alike, so that no gap is left between two.
      gl.uniform4f(uniforms.box, Math.round(corner[0] + area.x0 * zoom), Math.round(corner[1] + area.y0 * zoom),
        Math.round(corner[0] + area.x1 * zoom), Math.round(corner[1] + area.y1 * zoom));
      gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    },

    /** @param {Piece} piece */
    drop(piece) {
      if (piece.texture) gl.deleteTexture(piece.texture);
      piece.texture = null;
    },
  };
}
