//! Tests of clicks, typing and display.

use std::fs;

use super::ran;
use crate::{Options, Signals, Studio, gui};

const WIDGET: &str = "
local info = DockWidgetPluginGuiInfo.new(Enum.InitialDockState.Float, true)
local W = plugin:CreateDockWidgetPluginGuiAsync('Vector', info) W.Title = 'Vector <1>'
local function make(class, properties, parent)
    local it = Instance.new(class)
    for name, value in properties do it[name] = value end
    it.Parent = parent
    return it
end
local back = make('Frame', {Size = UDim2.fromScale(1, 1), BackgroundColor3 = Color3.fromHex('2e2e2e')}, W)
local approve = make('TextButton', {Name = 'Approve', Text = 'Approve', Size = UDim2.fromOffset(100, 30)}, back)
approve.Activated:Connect(function() print('approved') end)
approve.MouseButton1Click:Connect(function() print('clicked') end)
approve.MouseEnter:Connect(function() print('entered') end)
make('UICorner', {CornerRadius = UDim.new(0, 4)}, approve)
local hidden = make('TextButton', {Name = 'Hidden', Text = 'Hidden', Visible = false, Size = UDim2.fromOffset(9, 9)}, back)
local empty = make('TextButton', {Name = 'Empty', Text = 'Empty', Size = UDim2.fromOffset(0, 9)}, back)
local off = make('TextButton', {Name = 'Off', Text = 'Off', Active = false, Position = UDim2.fromOffset(0, 40), Size = UDim2.fromOffset(9, 9)}, back)
local under = make('TextButton', {Name = 'Under', Text = 'Under', Position = UDim2.fromOffset(0, 60), Size = UDim2.fromOffset(50, 20)}, back)
local over = make('TextButton', {Name = 'Over', Text = '', Position = UDim2.fromOffset(0, 60), Size = UDim2.fromOffset(50, 20), ZIndex = 2}, back)
make('TextLabel', {Name = 'On', Text = '<b>On</b> top', RichText = true, Size = UDim2.fromScale(1, 1)}, over)
over.Activated:Connect(function() print('over') end)
local scroll = make('ScrollingFrame', {Name = 'Scroll', Position = UDim2.fromOffset(0, 100), Size = UDim2.fromOffset(100, 50), CanvasSize = UDim2.fromOffset(0, 300)}, back)
local far = make('TextButton', {Name = 'Far', Text = 'Far', Position = UDim2.fromOffset(0, 200), Size = UDim2.fromOffset(50, 20)}, scroll)
far.Activated:Connect(function() print('far') end)
local say = make('TextBox', {Name = 'Say', Text = '', PlaceholderText = 'Ask', ClearTextOnFocus = false, Position = UDim2.fromOffset(0, 200), Size = UDim2.fromOffset(200, 30)}, back)
say.Focused:Connect(function() print('focused') end)
say.FocusLost:Connect(function(enter) print('lost', enter, say.Text) end)
say.InputBegan:Connect(function(input) if input.KeyCode.Value ~= 0 then print(input.KeyCode.Name) end end)
plugin:CreateToolbar('T'):CreateButton('open', 'tip', '', 'Open').Click:Connect(function() W.Enabled = not W.Enabled end)
plugin:CreatePluginAction('act', 'Act', '').Triggered:Connect(function() print('acted') end)
W:BindToClose(function() print('closing') W.Enabled = false end)
";

fn studio(signals: Signals) -> Studio {
    let studio = ran(Options { signals, ..Options::default() }, WIDGET);
    assert_eq!(studio.errors(), Vec::<String>::new());
    studio
}

fn said(studio: &Studio) -> Vec<String> {
    studio.output().into_iter().map(|line| line.text).collect()
}

#[test]
fn buttons_toolbar_and_actions_can_be_triggered() {
    for signals in [Signals::Immediate, Signals::Deferred] {
        let studio = studio(signals);
        studio.click_text("Approve").unwrap();
        assert_eq!(said(&studio), ["entered", "clicked", "approved"]);
        studio.click_text("On top").unwrap();
        assert_eq!(said(&studio)[3], "over");
        studio.click_toolbar("Open").unwrap();
        assert!(!studio.widgets()[0].enabled);
        assert!(studio.click(&studio.by_name("Approve").unwrap()).unwrap_err().contains("closed"));
        studio.click_toolbar("Open").unwrap();
        studio.trigger_action("act").unwrap();
        studio.close_widget("Vector").unwrap();
        assert_eq!(said(&studio)[4..], ["acted", "closing"]);
        assert!(!studio.widgets()[0].enabled);
    }
}

#[test]
fn keyboard_activates_selected_buttons() {
    let studio = studio(Signals::Deferred);
    studio.select(&studio.by_text("Approve").unwrap()).unwrap();
    studio.press_key("Return").unwrap();
    assert_eq!(said(&studio), ["approved"]);
    assert!(studio.select(&studio.by_name("Hidden").unwrap()).is_err());
    assert!(studio.press_key("Cheese").unwrap_err().contains("no key"));
}

#[test]
fn clicking_an_unreachable_button_is_an_error() {
    let studio = studio(Signals::Immediate);
    let check = |name: &str, why: &str| {
        let error = studio.click(&studio.by_name(name).unwrap()).unwrap_err();
        assert!(error.contains(why), "{error}");
    };
    check("Hidden", "is not visible");
    check("Empty", "has no size (0 x 9)");
    check("Off", "is not active");
    check("Under", "is covered by");
    check("Far", "is clipped out of sight");
    assert!(studio.by_text("Nothing").unwrap_err().contains("Approve"));
    studio.scroll_to(&studio.by_name("Scroll").unwrap(), 0.0, 190.0).unwrap();
    studio.click_text("Far").unwrap();
    assert_eq!(said(&studio).last().unwrap(), "far");
}

#[test]
fn text_boxes_accept_typed_text() {
    let studio = studio(Signals::Deferred);
    let say = studio.by_text("Ask").unwrap();
    studio.type_into(&say, "make ", false).unwrap();
    studio.type_into(&say, "a wall", true).unwrap();
    assert_eq!(said(&studio)[..], ["focused", "Return", "lost true make a wall"]);
    studio.type_into(&say, "!", false).unwrap();
    studio.press_key("Tab").unwrap();
    studio.click_text("Approve").unwrap();
    assert_eq!(
        said(&studio)[3..],
        ["focused", "Tab", "entered", "lost false make a wall!", "clicked", "approved"]
    );
}

#[test]
fn widget_is_rendered_as_html() {
    let studio = studio(Signals::Immediate);
    let html = studio.widget_html("Vector").unwrap();
    assert!(html.contains("Vector &lt;1&gt;") && html.contains("border-radius:4px"), "{html}");
    assert!(html.contains("<b>On</b> top") && html.contains(">Ask<") && !html.contains("Hidden<"));
    let folder = std::env::temp_dir().join(format!("studio-sim-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (page, picture) = (folder.join("widget.html"), folder.join("widget.png"));
    fs::write(&page, html).unwrap();
    if gui::render(&page, &picture, (360, 600)).unwrap() {
        assert!(fs::metadata(&picture).unwrap().len() > 500);
    } else {
        println!("skipped: there is no Chromium here");
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn contrast_is_computed_without_a_picture() {
    let luau = "local info = DockWidgetPluginGuiInfo.new(Enum.InitialDockState.Float, true)
        local W = plugin:CreateDockWidgetPluginGuiAsync('V', info)
        local back = Instance.new('Frame', W) back.Size = UDim2.fromScale(1, 1) back.BackgroundColor3 = Color3.new(1, 1, 1)
        local function label(text, color)
            local it = Instance.new('TextLabel', back) it.Size = UDim2.fromOffset(99, 20) it.Text = text
            it.BackgroundTransparency = 1 it.TextColor3 = color
        end
        label('white', Color3.new(1, 1, 1)) label('black', Color3.new())";
    let studio = ran(Options::default(), luau);
    let contrasts = studio.contrasts("V").unwrap();
    let rounded: Vec<_> = contrasts.iter().map(|(text, it)| (text.as_str(), it.round())).collect();
    assert_eq!(rounded, [("white", 1.0), ("black", 21.0)]);
}

#[test]
fn cut_and_overlapping_texts_are_found() {
    let faults = |luau: &str| {
        let start = "local info = DockWidgetPluginGuiInfo.new(Enum.InitialDockState.Float, true)
            local root = Instance.new('Frame')
            root.Size = UDim2.fromScale(1, 1)
            root.Parent = plugin:CreateDockWidgetPluginGuiAsync('V', info)";
        ran(Options::default(), &format!("{start}\n{luau}")).text_faults("V").unwrap()
    };
    let label = |rest: &str| {
        format!(
            "local it = Instance.new(\"TextLabel\")
            it.Text, it.TextSize = \"Hello, world\", 14
            it.Size, it.BackgroundTransparency = UDim2.fromOffset(200, 20), 1
            {rest}
            it.Parent = root"
        )
    };
    assert_eq!(faults(&label("")), Vec::<String>::new());
    let narrow = "it.Size = UDim2.fromOffset(30, 20)";
    assert_eq!(faults(&label(narrow)), ["the width of \"Hello, world\" is cut"]);
    let shortened = format!("{narrow} it.TextTruncate = Enum.TextTruncate.AtEnd");
    assert_eq!(faults(&label(&shortened)), Vec::<String>::new());
    let wrapped = format!("{narrow} it.TextWrapped = true");
    assert_eq!(faults(&label(&wrapped)), ["the height of \"Hello, world\" is cut"]);
    let outside =
        "it.Position = UDim2.new(1, -20, 0, 0) it.TextXAlignment = Enum.TextXAlignment.Left";
    assert_eq!(faults(&label(outside)), ["the width of \"Hello, world\" is cut"]);
    let two = format!("{}\n{}", label(""), label("it.Text = \"Other\""));
    assert_eq!(faults(&two), ["\"Other\" overlaps \"Hello, world\""]);
    // What covers the first text hides it.
    let covered = format!("{}\n{}", label(""), label("it.BackgroundTransparency = 0"));
    assert_eq!(faults(&covered), Vec::<String>::new());
    // What can be scrolled to is not cut.
    let scrolled = format!(
        "local frame = Instance.new(\"ScrollingFrame\")
        frame.Size = UDim2.fromOffset(200, 30)
        frame.CanvasSize = UDim2.fromOffset(0, 300)
        frame.ScrollingDirection = Enum.ScrollingDirection.Y
        frame.Parent = root
        root = frame
        {}",
        label("it.Position = UDim2.fromOffset(0, 20)")
    );
    assert_eq!(faults(&scrolled), Vec::<String>::new());
}
